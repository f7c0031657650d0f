//! The one place that writes.

use super::plan::Publish;
use crate::{
    error::{Error, PolicyOp},
    fs::Written,
    vault::Vault,
};

/// Publishes one file.
///
/// Policy is judged once more on where the handles lead, so that no look-up between the plan and this moment counts.
pub fn publish(vault: &Vault, step: Publish) -> Result<Written, Error> {
    let path = step.place.path().clone();
    vault.admit(&step.place, &path, PolicyOp::Write)?;
    vault.root().write(step.place, step.content, step.expect).map_err(|error| vault.withhold(error))
}
