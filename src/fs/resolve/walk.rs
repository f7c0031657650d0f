//! The walk by components: for kernels without `openat2`, and for absolute links that point back into the vault.

use std::{
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path},
};

use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{
    super::{Root, sys},
    folder::{Folder, Missed, inside},
};

/// The most links on one path, as the kernel's own (`path_resolution(7)`).
const LINKS_MAX: usize = 40;

/// A walk under way: the folders entered so far, and the names still to go.
struct Walk<'root> {
    root: &'root Root,
    entered: Vec<(String, OwnedFd)>,
    /// Last name first.
    ahead: Vec<OsString>,
    links: usize,
}

impl Root {
    /// Opens a folder by its path in the vault, one component at a time.
    pub(super) fn walk_to_folder(&self, path: &str) -> Result<Folder, Missed> {
        let mut walk = Walk::new(self, path);
        while let Some(name) = walk.ahead.pop() {
            walk.enter(&name)?;
        }
        walk.arrive(path)
    }

    /// Follows a final link to the folder and name of the file it leads to.
    pub(super) fn walk_to_file(&self, folder: &str, name: &str) -> Result<(Folder, OsString), Missed> {
        let mut walk = Walk::new(self, folder);
        walk.ahead.insert(0, name.into());
        while let Some(name) = walk.ahead.pop() {
            if walk.ahead.is_empty() && walk.is_leaf(&name)? {
                return Ok((walk.arrive(folder)?, name));
            }
            walk.enter(&name)?;
        }
        Err(Missed::Failed(Errno::ISDIR))
    }
}

impl<'root> Walk<'root> {
    fn new(root: &'root Root, path: &str) -> Self {
        let mut walk = Self { root, entered: Vec::new(), ahead: Vec::new(), links: 0 };
        walk.push(Path::new(path));
        walk
    }

    fn push(&mut self, path: &Path) {
        let names = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        });
        self.ahead.extend(names);
    }

    fn here(&self) -> &OwnedFd {
        self.entered.last().map_or(&self.root.dir.handle, |(_, dir)| dir)
    }

    fn open(&self, name: &OsStr) -> Result<(OwnedFd, sys::Stat), Missed> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let found = sys::open(self.here(), name, flags).map_err(Missed::from_errno)?;
        let stat = sys::stat(&found).map_err(Missed::from_errno)?;
        Ok((found, stat))
    }

    /// The last name is neither a link nor a folder: it is where the walk was to go.
    fn is_leaf(&self, name: &OsStr) -> Result<bool, Missed> {
        if name.as_bytes() == b".." {
            return Ok(false);
        }
        let (_, stat) = self.open(name)?;
        Ok(!matches!(stat.kind, FileType::Symlink | FileType::Directory))
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), Missed> {
        if name.as_bytes() == b".." {
            return self.entered.pop().map(drop).ok_or(Missed::Escapes);
        }
        let (found, stat) = self.open(name)?;
        match stat.kind {
            FileType::Directory => {
                let name = name.to_str().ok_or(Missed::Failed(Errno::ILSEQ))?.to_owned();
                self.entered.push((name, found));
                Ok(())
            }
            FileType::Symlink => self.follow(&found),
            _ => Err(Missed::NotADirectory),
        }
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<(), Missed> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Missed::Loops);
        }
        let target = sys::read_link(link, OsStr::new("")).map_err(Missed::from_errno)?;
        let target = target.to_str().ok_or(Missed::Failed(Errno::ILSEQ))?;
        if target.starts_with('/') {
            let rest = inside(self.root.own_paths.as_slice(), target).ok_or(Missed::Escapes)?;
            self.entered.clear();
            self.push(Path::new(rest));
        } else {
            self.push(Path::new(target));
        }
        Ok(())
    }

    fn arrive(self, spelled: &str) -> Result<Folder, Missed> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = sys::open(self.here(), OsStr::new("."), flags).map_err(Missed::from_errno)?;
        let names: Vec<_> = self.entered.iter().map(|(name, _)| name.as_str()).collect();
        Ok(self.root.folder(dir, spelled.to_owned(), names.join("/")))
    }
}
