//! The one value that lives as long as the process.

use crate::{
    config::Config,
    serving::{Sessions, Work},
    vault::Vaults,
};

/// What every call can reach: settings, known vaults, selections, pools.
#[derive(Debug)]
pub struct State {
    /// The validated settings.
    pub config: Config,
    /// The known vaults and the opened ones.
    pub vaults: Vaults,
    /// What each session selected.
    pub sessions: Sessions,
    /// Where blocking work runs.
    pub work: Work,
}

impl State {
    /// Builds the state; opens no vault.
    pub fn new(config: Config) -> Self {
        let vaults = Vaults::new(config.vaults.clone(), config.files.clone(), config.policy.clone());
        Self { config, vaults, sessions: Sessions::default(), work: Work::default() }
    }
}
