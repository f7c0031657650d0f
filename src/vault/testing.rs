//! A scratch disk with vaults, for the tests of this module.

use std::{fs, os::unix::fs::symlink, path::PathBuf, time::Instant};

use serde_json::Value;

use super::{FileConfig, VaultConfig, Vaults, discovery::Discovery, registry::Registry};
use crate::{error::Error, fs::HostPath, path::PathPolicy};

/// Folders and a home folder below a temporary one.
pub(super) struct Disk {
    scratch: tempfile::TempDir,
}

impl Disk {
    /// A disk with these folders, beside the home folder `home`.
    pub(super) fn with(folders: &[&str]) -> Self {
        let disk = Self { scratch: tempfile::tempdir().unwrap() };
        disk.make("home");
        folders.iter().for_each(|folder| disk.make(folder));
        disk
    }

    /// Makes a folder.
    pub(super) fn make(&self, folder: &str) {
        fs::create_dir_all(self.full(folder)).unwrap();
    }

    /// Makes a link at one path to another.
    pub(super) fn link(&self, from: &str, to: &str) {
        symlink(self.full(to), self.full(from)).unwrap();
    }

    /// Lists vaults in Obsidian's native registry file.
    pub(super) fn obsidian_lists(&self, vaults: &[(&str, &str)]) {
        let entries = vaults
            .iter()
            .map(|(id, path)| ((*id).to_owned(), serde_json::json!({ "path": self.text(path), "ts": 1 })));
        self.write_registry(
            ".config",
            &serde_json::json!({ "vaults": entries.collect::<serde_json::Map<_, _>>() }),
        );
    }

    /// Writes a registry file below a folder of the home folder.
    pub(super) fn write_registry(&self, below_home: &str, content: &Value) {
        let folder = self.full(&format!("home/{below_home}/obsidian"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("obsidian.json"), content.to_string()).unwrap();
    }

    /// The absolute path of one on this disk.
    pub(super) fn full(&self, path: &str) -> PathBuf {
        self.scratch.path().join(path)
    }

    /// The same as text, its end kept as it is.
    pub(super) fn text(&self, path: &str) -> String {
        format!("{}/{path}", self.scratch.path().display())
    }

    /// The same as a host path.
    pub(super) fn host(&self, path: &str) -> HostPath {
        HostPath::parse(self.full(path)).unwrap()
    }

    /// Settings that read this disk's registry and nothing else.
    pub(super) fn config(&self) -> VaultConfig {
        VaultConfig { discovery: true, ad_hoc: true, home: Some(self.host("home")), ..VaultConfig::default() }
    }

    /// Settings with a default vault.
    pub(super) fn config_with_default(&self, path: &str) -> VaultConfig {
        VaultConfig { default: Some(self.host(path)), ..self.config() }
    }
}

/// The registry of these settings; `path_lists` says that a path policy is set.
pub(super) fn registry(config: &VaultConfig, path_lists: bool) -> Registry {
    Registry::look(config, Discovery::new(config).read(false, Instant::now()), path_lists)
}

/// The vaults of these settings, without a path policy.
pub(super) fn vaults(config: VaultConfig) -> Vaults {
    Vaults::new(config, FileConfig::default(), PathPolicy::default())
}

/// The reason of a refusal.
pub(super) fn reason<T: std::fmt::Debug>(result: Result<T, impl Into<Error>>) -> String {
    result.unwrap_err().into().name()
}
