//! Where the benches write: a vault and a folder for the floors, side by side.

use std::{
    fs::File,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Command,
};

use vaultwright::{
    fs::{HostPath, OpenDir, Root, WriteConfig},
    path::VaultPath,
};

pub(crate) const NOTE: usize = 4096;

/// A scratch folder with a vault, whose `notes` hold so many notes, and `bare/notes` with as many for the floors.
pub(crate) struct Yard {
    scratch: tempfile::TempDir,
}

impl Yard {
    pub(crate) fn new(place: &Path, notes: usize) -> Self {
        let scratch = tempfile::tempdir_in(place).unwrap();
        for side in ["vault", "bare"] {
            let folder = scratch.path().join(side).join("notes");
            std::fs::create_dir_all(&folder).unwrap();
            for n in 0..notes {
                std::fs::write(folder.join(format!("A note of length {n:05}.md")), "text\n").unwrap();
            }
        }
        std::fs::create_dir(scratch.path().join("bare/.area")).unwrap();
        Self { scratch }
    }

    pub(crate) fn root(&self) -> Root {
        let path = HostPath::parse(self.path("vault")).unwrap();
        let state_dir = HostPath::parse(self.path("state")).unwrap();
        let config = WriteConfig { state_dir, ..WriteConfig::default() };
        Root::new(OpenDir::open(&path).unwrap(), path, config)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.scratch.path().join(below)
    }

    pub(crate) fn handle(&self, below: &str) -> OwnedFd {
        File::open(self.path(below)).unwrap().into()
    }
}

pub(crate) fn name(path: &str) -> VaultPath {
    VaultPath::parse(path).unwrap()
}

/// The memory file system, where there is one.
pub(crate) fn memory() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// An ext4 of its own on a loop device, gone with its handle.
pub(crate) struct Image {
    folder: tempfile::TempDir,
}

impl Image {
    /// None, and a line that says so, where it cannot be had.
    pub(crate) fn ext4() -> Option<Self> {
        let made = Self::make();
        if made.is_none() {
            eprintln!(
                "SKIP the rows on an ext4 loop device: they need root, mkfs.ext4 and a free loop device"
            );
        }
        made
    }

    fn make() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, mount) = (folder.path().join("image"), folder.path().join("mount"));
        std::fs::create_dir(&mount).unwrap();
        File::create(&image).unwrap().set_len(512 * 1024 * 1024).unwrap();
        let formatted = runs(Command::new("mkfs.ext4").arg("-q").arg(&image));
        let mounted = formatted && runs(Command::new("mount").arg("-o").arg("loop").arg(&image).arg(&mount));
        mounted.then_some(Self { folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mount")
    }
}

fn runs(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

impl Drop for Image {
    fn drop(&mut self) {
        if !runs(Command::new("umount").arg(self.path())) {
            eprintln!("{} stays mounted", self.path().display());
        }
    }
}
