//! Vaults.

mod config;

pub use config::{FileConfig, VaultConfig};

use crate::path::PathPolicy;

/// The known vaults and the opened ones.
#[derive(Debug)]
pub struct Vaults {}

impl Vaults {
    /// Builds the registry; opens nothing.
    pub fn new(_vaults: VaultConfig, _files: FileConfig, _policy: PathPolicy) -> Self {
        Self {}
    }
}
