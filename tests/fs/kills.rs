//! Killed processes: in loops, at whatever instant; and at every changing kernel call of an operation, one by one.

mod crash_points;
mod loops;

pub use crash_points::{create_once, replace_once, sweep_once};
pub use loops::{create_on_and_on, rename_over_on_and_on, replace_on_and_on, write_in_place_on_and_on};

use std::path::{Path, PathBuf};

use crate::bench_vault::{config, names, open};

/// A folder with `vault` and `state` in it, in memory where that is to be had: a kill costs no page cache.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let memory = tempfile::tempdir_in("/dev/shm");
        let scratch = memory.unwrap_or_else(|_| tempfile::tempdir().unwrap());
        std::fs::create_dir(scratch.path().join("vault")).unwrap();
        Self(scratch)
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn vault(&self) -> PathBuf {
        self.folder().join("vault")
    }

    /// What a killed process left in the staging folder.
    fn leftovers(&self) -> usize {
        let staging = self.vault().join(".vaultwright");
        if !staging.exists() {
            return 0;
        }
        names(&staging).iter().filter(|name| !name.ends_with('/') && *name != ".gitignore").count()
    }

    /// Opens the vault as the next process does, which sweeps; answers all names in it afterwards.
    fn restart(&self) -> Vec<String> {
        drop(open(&self.vault(), config(&self.folder().join("state"))));
        names(&self.vault())
    }

    /// The contents that are in the history, which is emptied.
    fn take_history(&self) -> Vec<Vec<u8>> {
        let state = self.folder().join("state");
        if !state.exists() {
            return Vec::new();
        }
        let contents = names(&state).into_iter().filter(|name| name.ends_with("/content"));
        let contents = contents.map(|name| std::fs::read(state.join(name)).unwrap()).collect();
        std::fs::remove_dir_all(state.canonicalize().unwrap()).unwrap();
        contents
    }
}
