//! The open vault folder: the public face of the write path.

use std::sync::{Arc, Mutex};

use super::{HostPath, OpenDir, WriteConfig, caps::Mounts, displaced::sweep, publish::area::Area};
use crate::text::ContentHash;

/// An open vault folder.
///
/// It is known by its handle: a folder that is moved or renamed while it is open stays the same vault. Blocking; safe
/// to share among threads.
#[derive(Debug)]
pub struct Root {
    pub(super) dir: OpenDir,
    /// The vault's canonical path and the one it was opened by; absolute links that start so point back inside.
    pub(super) own_paths: Arc<[HostPath; 2]>,
    pub(super) config: WriteConfig,
    pub(super) mounts: Mounts,
    /// Paths are resolved by the walk even where the kernel has `openat2`: for tests.
    pub(super) walks_always: bool,
    /// The staging folder at the root, once a write has needed it.
    pub(super) area: Mutex<Option<Arc<Area>>>,
}

impl Root {
    /// Takes an opened folder as a vault. `configured` is the absolute path it was opened by.
    ///
    /// What dead processes left in its staging folder is swept first, unless the vault is only read.
    pub fn new(dir: OpenDir, configured: HostPath, config: WriteConfig) -> Self {
        let own_paths = Arc::new([dir.canonical.clone(), configured]);
        let mounts = Mounts::default();
        let root = Self { dir, own_paths, config, mounts, walks_always: false, area: Mutex::new(None) };
        if root.config.sweeps {
            sweep::sweep_root(&root);
        }
        root
    }

    /// Resolves paths as on a kernel without `openat2`.
    #[cfg(feature = "fault-points")]
    pub fn walk_always(&mut self) {
        self.walks_always = true;
    }

    /// The settings it was opened with.
    pub const fn config(&self) -> &WriteConfig {
        &self.config
    }

    /// What names this vault in our own folders outside it: 16 hexadecimal digits of its canonical path.
    pub fn vault_id(&self) -> String {
        let hash = ContentHash::of(self.dir.canonical.as_path().as_os_str().as_encoded_bytes()).to_string();
        hash["sha256:".len()..][..16].to_owned()
    }
}

/// A vault in a scratch folder, for tests beside the code.
#[cfg(test)]
pub(crate) fn scratch() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = HostPath::parse(folder.path()).expect("an absolute path");
    let dir = OpenDir::open(&path).expect("a readable folder");
    let state_dir = path.join(".state");
    let root = Root::new(dir, path, WriteConfig { state_dir, ..WriteConfig::default() });
    (folder, root)
}
