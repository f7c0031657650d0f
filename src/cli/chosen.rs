//! Which vault a command acts on, and how it answers.

use std::sync::Arc;

use super::{Status, out};
use crate::{
    cancel::CancelFlag,
    error::{Error, VaultError},
    fs::HostPath,
    serving::State,
    vault::{Selector, Vault, Vaults},
};

/// What the command line said for every command.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The id or name of a known vault; without it the default.
    pub(super) selector: Option<String>,
    /// One JSON document on standard output, on failure too.
    pub(super) json: bool,
    /// Set when a signal came.
    pub(super) cancel: CancelFlag,
}

impl Chosen {
    /// Runs an operation on the vault, where it may block.
    pub(super) async fn on_vault<T: Send + 'static>(
        &self,
        state: &Arc<State>,
        operation: impl FnOnce(&Vault, &CancelFlag) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (held, selector, cancel) = (Arc::clone(state), self.selector.clone(), self.cancel.clone());
        state.work.files(move || operation(&choose(&held.vaults, selector)?, &cancel)).await
    }

    /// The state of a server whose default vault is the chosen one.
    pub(super) fn as_default(&self, state: &Arc<State>) -> Result<Arc<State>, Error> {
        let Some(selector) = &self.selector else { return Ok(Arc::clone(state)) };
        let mut config = state.config.clone();
        config.vaults.default = HostPath::parse(known(&state.vaults, selector)?);
        Ok(Arc::new(State::new(config)))
    }

    /// Ends with a failure: as the error object, or its message and hint for a person.
    pub(super) fn failed(&self, error: &Error) -> Status {
        if self.json {
            return out::report(error);
        }
        out::failed(&format_args!("{error}\n{}", error.reason().hint()), error.reason().exit())
    }
}

fn choose(vaults: &Vaults, selector: Option<String>) -> Result<Vault, Error> {
    match selector {
        None => vaults.choose(None, None),
        Some(selector) => vaults.choose(Some(&known(vaults, &selector)?), None),
    }
}

/// The folder of a known vault, by id, then by name.
pub(super) fn known(vaults: &Vaults, selector: &str) -> Result<String, Error> {
    let found = match vaults.find(&Selector::Id(selector.to_owned())) {
        Err(Error::Vault(VaultError::VaultNotFound { .. })) => {
            vaults.find(&Selector::Name(selector.to_owned()))
        }
        found => found,
    };
    Ok(found?.path)
}
