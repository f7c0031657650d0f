//! Vaults: which are known, which may be served, which one a call acts on.

mod admission;
mod config;
mod discovery;
mod files;
mod gate;
mod known;
mod obsidian_json;
mod open;
mod place;
mod record;
mod registry;
mod roots;
#[cfg(test)]
mod testing;
mod vaults;

use std::sync::Arc;

pub use config::{FileConfig, VaultConfig};
pub use record::{RegistryFile, Source, VaultRecord, Warning};
pub use vaults::{Current, CurrentReason, Listing, Selected, Selector, Vaults};

use crate::{
    fs::{HostPath, Root},
    path::PathPolicy,
};

/// The vault a call acts on: an open folder, and what may be done in it.
#[derive(Debug)]
pub struct Vault {
    /// What clients see of it.
    pub record: VaultRecord,
    configured: HostPath,
    root: Arc<Root>,
    /// The operator's, with the blocked vaults below the root denied.
    policy: PathPolicy,
    files: Arc<FileConfig>,
}

impl Vault {
    /// The open folder.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The path policy in force here: the operator's, and a vault the operator blocks that lies below this one is
    /// denied like an entry of `OBSIDIAN_DENY_PATHS`.
    pub fn policy(&self) -> &PathPolicy {
        &self.policy
    }

    /// Bounds and guarantees of reads and writes.
    pub fn files(&self) -> &FileConfig {
        &self.files
    }

    /// The folder as it was configured or given.
    pub fn configured_path(&self) -> &HostPath {
        &self.configured
    }
}
