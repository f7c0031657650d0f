//! The folder a file is published in, open, with the folders that had to be made for it.

use std::{ffi::OsStr, os::fd::OwnedFd, sync::Arc, time::Duration};

use rustix::{fs::OFlags, io::Errno};

use super::super::{
    Place, Root,
    caps::Mount,
    context::{IoContext, failure},
    lock::{Busy, FolderLock, LockFailure, NameLock},
    resolve,
    sys::{self, Stat},
};
use crate::{
    error::{Error, WriteError},
    path::VaultPath,
};

/// Where a file is published.
#[derive(Debug)]
pub(super) struct Target<'place> {
    pub(super) place: &'place Place,
    made: MadeFolders<'place>,
    pub(super) stat: Stat,
    pub(super) mount: Arc<Mount>,
    canonical: String,
}

/// The folders below a place that were missing, entered one by one; those that were made are removed again,
/// innermost first, unless they are kept.
#[derive(Debug)]
struct MadeFolders<'place> {
    place: &'place Place,
    entered: Vec<Entered>,
    kept: bool,
}

#[derive(Debug)]
struct Entered {
    dir: OwnedFd,
    ours: bool,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

impl<'place> MadeFolders<'place> {
    fn make(place: &'place Place) -> Result<Self, Error> {
        let mut made = Self { place, entered: Vec::new(), kept: false };
        for name in &place.missing {
            let entered = enter(made.innermost(), OsStr::new(name)).at("make folder", place.asked())?;
            made.entered.push(entered);
        }
        Ok(made)
    }

    fn innermost(&self) -> &OwnedFd {
        self.entered.last().map_or(resolve::handle(self.place), |entered| &entered.dir)
    }

    /// The folder that holds the one entered at that depth.
    fn holder(&self, depth: usize) -> &OwnedFd {
        depth.checked_sub(1).map_or(resolve::handle(self.place), |above| &self.entered[above].dir)
    }

    fn ours(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.entered.iter().enumerate().filter(|(_, entered)| entered.ours).map(|(depth, _)| depth)
    }
}

impl Drop for MadeFolders<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for depth in self.ours().rev() {
            match sys::remove_folder(self.holder(depth), OsStr::new(&self.place.missing[depth])) {
                Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => {}
                Err(errno) => tracing::warn!(?errno, "a folder made for a refused write stays"),
            }
        }
    }
}

/// Opens a folder below another, making it when it is not there.
fn enter(holder: &OwnedFd, name: &OsStr) -> Result<Entered, Errno> {
    let ours = match sys::make_folder(holder, name, 0o777) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    let opened = sys::open(holder, name, FOLDER);
    if opened.is_err()
        && ours
        && let Err(errno) = sys::remove_folder(holder, name)
    {
        tracing::warn!(?errno, "a folder made for a refused write stays");
    }
    opened.map(|dir| Entered { dir, ours })
}

impl<'place> Target<'place> {
    /// Makes the folders that are missing and opens the one the file goes to.
    ///
    /// They are removed again unless [`Target::keep_folders`] is called.
    pub(super) fn open(root: &Root, place: &'place Place) -> Result<Self, Error> {
        let made = MadeFolders::make(place)?;
        let stat = sys::stat(made.innermost()).at("stat folder", place.asked())?;
        let mount = root.mounts.of(&stat);
        let canonical = place.canonical_folder();
        Ok(Self { place, made, stat, mount, canonical })
    }

    pub(super) fn dir(&self) -> &OwnedFd {
        self.made.innermost()
    }

    pub(super) fn name(&self) -> &OsStr {
        self.place.name()
    }

    pub(super) fn asked(&self) -> &str {
        self.place.asked()
    }

    pub(super) fn path(&self) -> &VaultPath {
        self.place.path()
    }

    /// The folders made are there to stay; answers them as paths, outermost first.
    pub(super) fn keep_folders(&mut self) -> Vec<String> {
        self.made.kept = true;
        let paths = self.place.folders_to_make();
        self.made.ours().map(|depth| paths[depth].clone()).collect()
    }

    /// The handles whose flush makes the new names last: the folder, then the holders of those made, innermost first.
    pub(super) fn folders_to_sync(&self) -> impl Iterator<Item = &OwnedFd> {
        std::iter::once(self.dir()).chain(self.made.ours().rev().map(|depth| self.made.holder(depth)))
    }

    /// The right of this call to the name, among the calls of this process.
    pub(super) fn lock_name(&self, limit: Duration) -> Result<NameLock, Error> {
        NameLock::take(&self.stat, &self.place.name, limit).map_err(|Busy(waited)| busy(self.asked(), waited))
    }

    /// The right of this process to the folder.
    pub(super) fn lock_folder(&self, limit: Duration) -> Result<FolderLock<'_>, Error> {
        FolderLock::take(self.dir(), limit).map_err(|failed| match failed {
            LockFailure::Busy(Busy(waited)) => busy(self.asked(), waited),
            LockFailure::Failed(errno) => failure(errno, "lock folder", self.asked()),
        })
    }

    /// The folder is still where the path leads.
    pub(super) fn is_still_there(&self, root: &Root) -> bool {
        root.still_there(&self.canonical, &self.stat)
    }

    /// Nothing came or went in the folder since the names in it were looked through.
    pub(super) fn is_as_listed(&self) -> bool {
        let Some(listed) = self.place.listed.filter(|_| self.made.entered.is_empty()) else { return false };
        sys::stat(self.dir()).is_ok_and(|now| now.unmoved(&listed))
    }

    /// The folder was removed.
    pub(super) fn is_removed(&self) -> bool {
        sys::stat(self.dir()).is_ok_and(|stat| stat.nlink == 0)
    }

    pub(super) fn moved(&self, published: bool) -> Error {
        WriteError::ParentMoved { path: self.asked().to_owned(), published }.into()
    }
}

pub(super) fn busy(path: &str, waited: Duration) -> Error {
    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    WriteError::VaultBusy { path: path.to_owned(), waited_ms }.into()
}
