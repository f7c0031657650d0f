//! Opening a folder by its path, beneath the root.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fs::{OFlags, ResolveFlags},
    io::Errno,
};

use super::super::{HostPath, Root, sys};

/// This kernel, or a filter around this process, has no `openat2`.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

/// How a call answers that this kernel, or a filter around this process, does not have.
const MISSING_CALL: &[Errno] = &[Errno::NOSYS, Errno::PERM];

/// How often the names of two handles are read together before the walk is taken instead.
const NAME_READS: usize = 4;

/// An open folder of the vault.
#[derive(Debug)]
pub(in crate::fs) struct Folder {
    /// `O_RDONLY|O_DIRECTORY`, and of this call alone.
    pub(in crate::fs) dir: OwnedFd,
    /// Its path in the vault as it was reached, links kept.
    pub(in crate::fs) spelled: String,
    /// Its path in the vault behind every link.
    pub(in crate::fs) canonical: String,
    /// The absolute paths of the vault, for telling links that point back inside.
    roots: Arc<[HostPath; 2]>,
}

/// Why a folder could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fs) enum Missed {
    Absent,
    NotADirectory,
    /// A link leaves the vault.
    Escapes,
    /// Links go in a circle, or on too long.
    Loops,
    /// It was moved out of the vault or removed in this instant.
    Moved,
    Failed(Errno),
}

impl Missed {
    pub(super) const fn from_errno(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Absent,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::LOOP => Self::Loops,
            errno => Self::Failed(errno),
        }
    }
}

impl Folder {
    /// The rest of an absolute link that points back into the vault.
    pub(super) fn in_vault(&self, target: &str) -> Option<String> {
        inside(self.roots.as_slice(), target).map(str::to_owned)
    }
}

/// The rest of an absolute path below one of the vault's own absolute paths, by whole components.
pub(super) fn inside<'a>(roots: &[HostPath], target: &'a str) -> Option<&'a str> {
    roots.iter().find_map(|root| Path::new(target).strip_prefix(root.as_path()).ok()?.to_str())
}

impl Root {
    /// Opens a folder by its path in the vault, `""` being the root itself.
    ///
    /// Links that stay inside are followed, absolute ones that point back inside too.
    pub(in crate::fs) fn open_folder(&self, path: &str) -> Result<Folder, Missed> {
        if path.is_empty() {
            let dir = self.open_here().map_err(Missed::from_errno)?;
            return Ok(self.folder(dir, String::new(), String::new()));
        }
        if self.walks_always || NO_OPENAT2.load(Ordering::Relaxed) {
            return self.walk_to_folder(path);
        }
        match self.open_directly(path) {
            Err(Missed::Failed(errno)) if MISSING_CALL.contains(&errno) => {
                NO_OPENAT2.store(true, Ordering::Relaxed);
                self.walk_to_folder(path)
            }
            Err(Missed::Escapes) => self.walk_to_folder(path),
            other => other,
        }
    }

    /// The kernel resolves paths beneath the root in one call.
    pub(in crate::fs) fn has_openat2(&self) -> bool {
        let tried = self.open_kernel(".", ResolveFlags::NO_SYMLINKS);
        !self.walks_always && !tried.is_err_and(|errno| MISSING_CALL.contains(&errno))
    }

    fn open_here(&self) -> Result<OwnedFd, Errno> {
        sys::open(&self.dir.handle, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The way without links is tried first: it tells the canonical path by itself.
    fn open_directly(&self, path: &str) -> Result<Folder, Missed> {
        match self.open_kernel(path, ResolveFlags::NO_SYMLINKS) {
            Ok(dir) => return Ok(self.folder(dir, path.to_owned(), path.to_owned())),
            Err(Errno::LOOP) => {}
            Err(errno) => return Err(Missed::from_errno(errno)),
        }
        let dir = self.open_kernel(path, ResolveFlags::empty()).map_err(|errno| match errno {
            Errno::XDEV => Missed::Escapes,
            errno => Missed::from_errno(errno),
        })?;
        match self.canonical_of(&dir) {
            Some(canonical) => Ok(self.folder(dir, path.to_owned(), canonical?)),
            None => self.walk_to_folder(path),
        }
    }

    fn open_kernel(&self, path: &str, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
        sys::open_beneath(&self.dir.handle, OsStr::new(path), OFlags::RDONLY | OFlags::DIRECTORY, resolve)
    }

    /// The kernel's name of a handle less that of the root; none where `/proc` does not tell.
    fn canonical_of(&self, dir: &OwnedFd) -> Option<Result<String, Missed>> {
        for _ in 0..NAME_READS {
            let root = sys::name_of(&self.dir.handle).ok()?;
            let name = sys::name_of(dir).ok()?;
            // The kernel's mark of a removed folder, ` (deleted)`, could be a name as well.
            if sys::stat(dir).ok()?.nlink == 0 {
                return Some(Err(Missed::Moved));
            }
            if let Ok(below) = Path::new(&name).strip_prefix(&root) {
                return below.to_str().map(|below| Ok(below.to_owned()));
            }
        }
        Some(Err(Missed::Moved))
    }

    pub(super) fn folder(&self, dir: OwnedFd, spelled: String, canonical: String) -> Folder {
        Folder { dir, spelled, canonical, roots: Arc::clone(&self.own_paths) }
    }

    /// The folder at the canonical path is still the one whose handle we hold.
    ///
    /// A folder that was moved, inside the vault or out of it, has carried what we published along.
    pub(in crate::fs) fn still_there(&self, canonical: &str, stat: &sys::Stat) -> bool {
        if canonical.is_empty() {
            return true;
        }
        let found = if self.walks_always || NO_OPENAT2.load(Ordering::Relaxed) {
            self.walk_to_folder(canonical).map(|folder| folder.dir)
        } else {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            sys::open_beneath(&self.dir.handle, OsStr::new(canonical), flags, ResolveFlags::NO_SYMLINKS)
                .map_err(Missed::from_errno)
        };
        let found = found.and_then(|dir| sys::stat(&dir).map_err(Missed::from_errno));
        found.is_ok_and(|found| found.is(stat) && found.mount == stat.mount)
    }
}
