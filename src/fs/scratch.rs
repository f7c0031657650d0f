//! A folder of our own in the system's temporary folder.

use std::{
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempDir};

use super::HostPath;

/// A fresh private folder, gone with this value unless it is kept.
#[derive(Debug)]
pub struct Scratch(TempDir);

#[expect(clippy::disallowed_methods, reason = "this is a part of fs")]
impl Scratch {
    /// Makes a folder that nobody else may enter, under a name that starts so.
    pub fn make(prefix: &str) -> io::Result<Self> {
        Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir().map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path below it; none where the temporary folder is a relative path.
    pub fn below(&self, name: &str) -> Option<HostPath> {
        HostPath::parse(self.0.path().join(name))
    }

    /// Puts a file there as any program would: folders are made, what was there is written over.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.0.path().join(name);
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(file, bytes)
    }

    /// The bytes of a file there.
    pub fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.0.path().join(name))
    }

    /// Lets it stay, and tells where.
    pub fn keep(self) -> PathBuf {
        self.0.keep()
    }

    /// Removes it and all that is in it.
    pub fn remove(self) -> io::Result<()> {
        self.0.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_private_and_gone_at_the_end() {
        let scratch = Scratch::make("vaultwright-test-").unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        scratch.put("a/b", b"1").unwrap();
        assert_eq!(scratch.get("a/b").unwrap(), b"1");
        scratch.remove().unwrap();
        assert!(!path.exists());
    }
}
