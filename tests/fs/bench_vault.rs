//! A vault on disk for one test.

use std::path::{Path, PathBuf};

use vaultwright::{
    error::Error,
    fs::{Content, Expect, HostPath, Lookup, OpenDir, Root, WriteConfig, Written},
    path::VaultPath,
    text::ContentHash,
};

/// A scratch folder with a vault and a state folder in it.
pub struct BenchVault {
    scratch: tempfile::TempDir,
    pub root: Root,
}

pub fn config(state: &Path) -> WriteConfig {
    WriteConfig { state_dir: HostPath::parse(state).unwrap(), ..WriteConfig::default() }
}

pub fn open(vault: &Path, config: WriteConfig) -> Root {
    let path = HostPath::parse(vault).unwrap();
    Root::new(OpenDir::open(&path).unwrap(), path, config)
}

impl BenchVault {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut WriteConfig)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("vault")).unwrap();
        let mut config = config(&scratch.path().join("state"));
        change(&mut config);
        let root = open(&scratch.path().join("vault"), config);
        Self { scratch, root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join("vault").join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.scratch.path().join("state")
    }

    pub fn outside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, bytes: &[u8], expect: Expect) -> Result<Written, Error> {
        write(&self.root, name, bytes, expect)
    }

    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Written, Error> {
        self.write(name, bytes, Expect::Absent)
    }

    pub fn replace(&self, name: &str, bytes: &[u8], old: &[u8]) -> Result<Written, Error> {
        self.write(name, bytes, Expect::Hash(ContentHash::of(old)))
    }

    pub fn append(&self, name: &str, piece: &[u8]) -> Result<Written, Error> {
        append(&self.root, name, piece)
    }

    /// Every name below the vault, sorted, folders with a slash.
    pub fn names(&self) -> Vec<String> {
        names(&self.path(""))
    }
}

pub fn write(root: &Root, name: &str, bytes: &[u8], expect: Expect) -> Result<Written, Error> {
    let place = root.place(&VaultPath::parse(name)?, Lookup::Create)?;
    root.write(place, Content::Bytes(bytes.to_vec()), expect)
}

pub fn append(root: &Root, name: &str, piece: &[u8]) -> Result<Written, Error> {
    let path = VaultPath::parse(name)?;
    root.update(&path, Lookup::Create, None, &|_| Ok(()), &mut |old| {
        Ok([old.unwrap_or_default(), piece].concat())
    })
}

pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = walkdir::WalkDir::new(folder)
        .min_depth(1)
        .into_iter()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if entry.file_type().is_dir() { name + "/" } else { name }
        })
        .collect();
    names.sort();
    names
}

pub fn reason<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().name()
}

pub fn open_handles() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
