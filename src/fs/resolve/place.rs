//! Where a path leads.

use std::{
    ffi::{OsStr, OsString},
    os::fd::OwnedFd,
};

use rustix::fs::FileType;

use super::{
    super::sys::{self, Stat},
    folder::Folder,
};
use crate::{
    error::{Error, FileKind, PathError},
    path::VaultPath,
    text::fold,
};

/// What stands for the target of a link that leaves the vault.
pub const OUTSIDE: &str = "outside the vault";

/// Where a path leads: an open folder, the name in it, and what lies at the name.
#[derive(Debug)]
pub struct Place {
    pub(in crate::fs) folder: Folder,
    /// Folders that are to be made below `folder`, outermost first.
    pub(in crate::fs) missing: Vec<String>,
    /// The name as it is on disk, or as it will be made (NFC).
    pub(in crate::fs) name: String,
    pub(in crate::fs) leaf: Option<Stat>,
    /// The folder as it was before the names in it were looked through; none when they were not, or when its times
    /// are too fresh to tell a later change.
    pub(in crate::fs) listed: Option<Stat>,
    pub(super) path: VaultPath,
    pub(in crate::fs) requested: VaultPath,
}

impl Place {
    /// The path as it stands on disk, or will.
    pub const fn path(&self) -> &VaultPath {
        &self.path
    }

    /// The path as the caller sent it, when the disk spells it otherwise.
    pub fn requested(&self) -> Option<&VaultPath> {
        (self.path != self.requested).then_some(&self.requested)
    }

    /// The path behind every link on the way; policy is judged on it again.
    pub fn canonical(&self) -> VaultPath {
        VaultPath::found(&self.canonical_folder(), &self.name)
    }

    /// The folder of that path.
    pub(in crate::fs) fn canonical_folder(&self) -> String {
        self.missing.iter().fold(self.folder.canonical.clone(), |folder, name| {
            VaultPath::found(&folder, name).as_str().to_owned()
        })
    }

    /// Something lies at the name.
    pub const fn exists(&self) -> bool {
        self.leaf.is_some()
    }

    /// The folders that a write would make, as paths, outermost first.
    pub fn folders_to_make(&self) -> Vec<String> {
        let mut path = self.folder.spelled.clone();
        self.missing
            .iter()
            .map(|name| {
                VaultPath::found(&path, name).as_str().clone_into(&mut path);
                path.clone()
            })
            .collect()
    }

    /// The folder has no name any more.
    pub(in crate::fs) fn is_removed(&self) -> bool {
        sys::stat(&self.folder.dir).is_ok_and(|stat| stat.nlink == 0)
    }

    pub(in crate::fs) fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }

    /// The caller's spelling, for errors.
    pub(in crate::fs) fn asked(&self) -> &str {
        self.requested.as_str()
    }

    /// The hidden rule, on the path behind every link.
    pub(super) fn refuse_hidden(&self) -> Result<(), Error> {
        let mut folders = self.folder.canonical.split('/').chain(self.missing.iter().map(String::as_str));
        if folders.any(|name| name.starts_with('.')) || self.name.starts_with('.') {
            return Err(PathError::HiddenPath { path: self.requested.as_str().to_owned() }.into());
        }
        Ok(())
    }

    /// What lies at the name is a regular file, or nothing does.
    pub fn refuse_unless_file(&self) -> Result<(), Error> {
        self.leaf.map_or(Ok(()), |leaf| self.refuse_special(&leaf))
    }

    /// Refuses anything but a regular file, with its reason.
    pub(in crate::fs) fn refuse_special(&self, leaf: &Stat) -> Result<(), Error> {
        let path = || self.asked().to_owned();
        let problem = match leaf.kind {
            FileType::RegularFile => return Ok(()),
            FileType::Symlink => return Err(self.link_refusal()),
            FileType::Directory => return Err(PathError::PathIsDirectory { path: path() }.into()),
            FileType::Fifo => FileKind::Fifo,
            FileType::Socket => FileKind::Socket,
            _ => FileKind::Device,
        };
        Err(PathError::NotAFile { path: path(), problem }.into())
    }

    fn link_refusal(&self) -> Error {
        let target = sys::read_link(&self.folder.dir, self.name()).ok().map(|target| self.describe(&target));
        PathError::SymlinkRefused { path: self.asked().to_owned(), target }.into()
    }

    /// Where a link at the name points: relative to the vault, or that it does not stay inside.
    fn describe(&self, target: &OsString) -> String {
        let outside = || OUTSIDE.to_owned();
        let target = target.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let target = target.as_str();
        let base = self.folder.canonical.as_str();
        let target = match self.folder.in_vault(target) {
            Some(inside) => inside,
            None if target.starts_with('/') => return outside(),
            None => format!("{base}/{target}"),
        };
        lexical(&target).unwrap_or_else(outside)
    }
}

/// A relative path with its dot segments worked in; none when they lead above its start.
fn lexical(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// An open folder of its own description, so that its flock is the call's own.
pub(in crate::fs) fn handle(place: &Place) -> &OwnedFd {
    &place.folder.dir
}

/// The place of a file in folders that are yet to be made; new names are made in NFC.
pub(super) fn absent_place(path: &VaultPath, folder: Folder, missing: &[String]) -> Result<Place, Error> {
    let missing: Vec<_> = missing.iter().map(|name| fold::nfc(name).into_owned()).collect();
    let name = fold::nfc(path.name()).into_owned();
    let parent = missing
        .iter()
        .fold(folder.spelled.clone(), |parent, name| VaultPath::found(&parent, name).as_str().to_owned());
    let found = VaultPath::found(&parent, &name);
    let place =
        Place { folder, missing, name, leaf: None, listed: None, path: found, requested: path.clone() };
    place.refuse_hidden()?;
    Ok(place)
}
