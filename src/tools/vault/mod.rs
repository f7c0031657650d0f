//! Which vault: `vault_*`.

use crate::tools::Entry;

/// The family, in listing order.
pub const TOOLS: &[Entry] = &[];
