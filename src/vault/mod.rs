//! Vaults: which are known, which may be served, which one a call acts on.

mod admission;
mod config;
mod discovery;
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
    text::fold,
};

/// The vault a call acts on: an open folder, and what may be done in it.
#[derive(Debug)]
pub struct Vault {
    /// What clients see of it.
    pub record: VaultRecord,
    configured: HostPath,
    root: Arc<Root>,
    policy: Arc<PathPolicy>,
    files: Arc<FileConfig>,
    /// Folded paths of blocked vaults below the root.
    withheld: Vec<String>,
}

impl Vault {
    /// The open folder.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The operator's path policy.
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

    /// A vault the operator blocks lies at this vault-relative path or above it.
    ///
    /// Such a path is a denied one, as if it stood in `OBSIDIAN_DENY_PATHS`; its entry is never named. Like every
    /// denial it is asked twice: for the path of the request, and for the path to which links resolve.
    pub fn withholds(&self, path: &str) -> bool {
        let key = fold::key(path);
        self.withheld.iter().any(|entry| {
            key.strip_prefix(entry.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
