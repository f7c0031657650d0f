//! A scratch disk with vaults, for the tests of this module.
#![expect(clippy::disallowed_methods, reason = "tests build the folders they look at")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    time::Instant,
};

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
        for folder in folders {
            disk.make(folder);
        }
        disk
    }

    /// Makes a folder.
    pub(super) fn make(&self, folder: &str) {
        fs::create_dir_all(self.full(folder)).unwrap();
    }

    /// Removes a file, a link or an empty folder.
    pub(super) fn remove(&self, path: &str) {
        let path = self.full(path);
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
    }

    /// Something is at the path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.full(path).exists()
    }

    /// Sets permissions, and answers whether they keep this process from reading the folder.
    pub(super) fn locks(&self, folder: &str, mode: u32) -> bool {
        fs::set_permissions(self.full(folder), fs::Permissions::from_mode(mode)).unwrap();
        fs::read_dir(self.full(folder)).is_err()
    }

    /// The absolute path without links.
    pub(super) fn real(&self, path: &str) -> String {
        self.full(path).canonicalize().unwrap().display().to_string()
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
        self.write(&format!("home/{below_home}/obsidian/obsidian.json"), &content.to_string());
    }

    /// Writes a file and makes its folders.
    pub(super) fn write(&self, path: &str, text: &str) {
        let file = self.full(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// The absolute path of one on this disk.
    fn full(&self, path: &str) -> PathBuf {
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
