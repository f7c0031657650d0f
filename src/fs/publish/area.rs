//! Where bytes stand under a name that nobody looks at: a private dot-folder.
//!
//! Usually `.vaultwright/<instance>` at the vault's root, locked for life by the process that made it. On another
//! mount, or where that folder cannot be, a `.vw-<instance>` inside the note's own folder, for one call.

use std::{
    ffi::{OsStr, OsString},
    hash::{BuildHasher, RandomState},
    os::fd::OwnedFd,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{fs::OFlags, io::Errno};

use super::{
    super::{
        Root,
        context::failure,
        displaced::sweep,
        sys::{self, Stat, Step},
    },
    target::Target,
};
use crate::error::Error;

/// The dot-folder at a vault's root.
pub(crate) const BASE: &str = ".vaultwright";
/// How the name of a dot-folder inside a note's folder starts.
pub(crate) const IN_FOLDER: &str = ".vw-";
/// Keeps git from seeing what stands in [`BASE`].
const GITIGNORE: &str = ".gitignore";
const IGNORE_ALL: &[u8] = b"*\n";
/// Tries against other processes that remove or sweep in the same instant.
const TRIES: usize = 16;
/// How FUSE names a file that was unlinked while it was open. It goes with the handle, but a little after the `close`.
const UNLINKED: &[u8] = b".fuse_hidden";
const RELEASE_PATIENCE: Duration = Duration::from_millis(200);
const RELEASE_POLL: Duration = Duration::from_millis(1);

/// A private staging folder; removed when the last use of it ends.
#[derive(Debug)]
pub(crate) struct Area {
    dir: OwnedFd,
    name: OsString,
    holder: OwnedFd,
    /// The folder that holds [`BASE`], for an area at the root.
    root: Option<OwnedFd>,
    next: AtomicU64,
}

impl Area {
    /// Makes this process's area at the root of a vault.
    ///
    /// `ENOTDIR`, `ELOOP`, `EACCES`: what is called [`BASE`] there is not ours to use.
    pub(crate) fn at_root(root: &OwnedFd, stat: &Stat) -> Result<Self, Errno> {
        Self::insist(|| {
            let base = open_base(root, stat)?;
            let own_root = sys::open(root, OsStr::new("."), FOLDER)?;
            Self::within(base, "", Some(own_root))
        })
    }

    /// Makes an area for one call inside a note's folder.
    pub(crate) fn in_folder(folder: &OwnedFd) -> Result<Self, Errno> {
        Self::insist(|| Self::within(sys::open(folder, OsStr::new("."), FOLDER)?, IN_FOLDER, None))
    }

    /// Begins anew, under another name, when others removed or swept what was just made.
    fn insist(make: impl Fn() -> Result<Self, Errno>) -> Result<Self, Errno> {
        let mut last = Errno::NOENT;
        for _ in 0..TRIES {
            match make() {
                Err(errno @ (Errno::NOENT | Errno::EXIST | Errno::WOULDBLOCK)) => last = errno,
                other => return other,
            }
        }
        Err(last)
    }

    /// On an error nothing that was made stays.
    fn within(holder: OwnedFd, prefix: &str, root: Option<OwnedFd>) -> Result<Self, Errno> {
        let name = OsString::from(format!("{prefix}{}", random_name()));
        sys::make_folder(&holder, &name, 0o700)?;
        match own(&holder, &name) {
            Ok(dir) => Ok(Self { dir, name, holder, root, next: AtomicU64::new(1) }),
            Err(errno) => {
                if let Err(stays) = sys::remove_folder(&holder, &name) {
                    tracing::debug!(?stays, "a staging folder stays for the next sweep");
                }
                if let Some(root) = &root {
                    remove_base_if_bare(root, &holder);
                }
                Err(errno)
            }
        }
    }

    /// The folder.
    pub(crate) const fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// It is the one at the root of the vault.
    pub(crate) const fn is_at_root(&self) -> bool {
        self.root.is_some()
    }

    fn next_name(&self) -> OsString {
        self.next.fetch_add(1, Ordering::Relaxed).to_string().into()
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Opens and locks a folder that was just made.
fn own(holder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let dir = sys::open(holder, name, FOLDER | OFlags::NOFOLLOW)?;
    sys::try_lock(&dir)?;
    // A sweep may have taken the folder for a dead one between its making and its locking.
    if sys::stat_at(holder, name)?.is(&sys::stat(&dir)?) { Ok(dir) } else { Err(Errno::NOENT) }
}

fn open_base(root: &OwnedFd, stat: &Stat) -> Result<OwnedFd, Errno> {
    let made = match sys::make_folder(root, OsStr::new(BASE), 0o700) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    let base = sys::open(root, OsStr::new(BASE), FOLDER | OFlags::NOFOLLOW)?;
    let found = sys::stat(&base)?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid != own || found.mount != stat.mount || found.dev != stat.dev {
        return Err(Errno::ACCESS);
    }
    if made {
        forget_default_acl(&base);
    }
    ignore_in_git(&base).inspect_err(|_| remove_base_if_bare(root, &base))?;
    Ok(base)
}

/// What is staged gets the mode of what it replaces, never one from the folder's default ACL.
fn forget_default_acl(base: &OwnedFd) {
    if let Err(errno) = rustix::fs::fremovexattr(base, "system.posix_acl_default")
        && !matches!(errno, Errno::NODATA | Errno::OPNOTSUPP)
    {
        tracing::debug!(?errno, "the staging folder keeps its default ACL");
    }
}

fn ignore_in_git(base: &OwnedFd) -> Result<(), Errno> {
    match sys::create_exclusive(base, OsStr::new(GITIGNORE), 0o600, Step::StageNamed) {
        Ok(file) => match sys::write(&file, IGNORE_ALL) {
            Ok(count) if count == IGNORE_ALL.len() => Ok(()),
            written => {
                sys::unlink(base, OsStr::new(GITIGNORE))?;
                Err(written.err().unwrap_or(Errno::NOSPC))
            }
        },
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Removes a folder of ours; one that holds nothing but unlinked files is waited for.
fn remove_folder(holder: &OwnedFd, name: &OsStr, dir: &OwnedFd) -> Result<(), Errno> {
    let start = Instant::now();
    loop {
        match sys::remove_folder(holder, name) {
            Err(Errno::NOTEMPTY) if start.elapsed() < RELEASE_PATIENCE && holds_only_unlinked(dir) => {
                thread::sleep(RELEASE_POLL);
            }
            other => return other,
        }
    }
}

fn holds_only_unlinked(dir: &OwnedFd) -> bool {
    let mut only = true;
    let listed = sys::open(dir, OsStr::new("."), FOLDER).and_then(|fresh| {
        sys::for_each_name(&fresh, |name, _| only &= name.to_bytes().starts_with(UNLINKED))
    });
    listed.is_ok() && only
}

impl Drop for Area {
    fn drop(&mut self) {
        if let Err(errno) = remove_folder(&self.holder, &self.name, &self.dir) {
            tracing::debug!(?errno, "a staging folder stays for the next sweep");
        }
        if let Some(root) = &self.root {
            remove_base_if_bare(root, &self.holder);
        }
    }
}

/// Removes the dot-folder at the root when no other instance stands in it.
pub(crate) fn remove_base_if_bare(root: &OwnedFd, base: &OwnedFd) {
    let mut alone = true;
    let Ok(fresh) = sys::open(base, OsStr::new("."), FOLDER) else { return };
    let listed = sys::for_each_name(&fresh, |name, _| alone &= name.to_bytes() == GITIGNORE.as_bytes());
    if listed.is_err() || !alone {
        return;
    }
    // A process that died in between may have made the folder alone, or removed the file alone.
    let removed = match sys::unlink(base, OsStr::new(GITIGNORE)) {
        Ok(()) | Err(Errno::NOENT) => remove_folder(root, OsStr::new(BASE), base),
        other => other,
    };
    if removed == Err(Errno::NOTEMPTY) && ignore_in_git(base).is_err() {
        tracing::debug!("another instance stands in the staging folder, which git may now see");
    }
}

impl Root {
    /// The staging folder for a file in that folder: the one at the root, where a rename from it gets there.
    pub(super) fn area(&self, target: &Target<'_>) -> Result<Arc<Area>, Error> {
        let own =
            sys::stat(&self.dir.handle).map_err(|errno| failure(errno, "stat vault", target.asked()))?;
        let reaches = (own.mount, own.dev) == (target.stat.mount, target.stat.dev);
        if reaches && target.mount.stage_at_root.worth_trying() {
            let made = self.area_at_root(&own);
            target.mount.stage_at_root.learn(&made, UNUSABLE_BASE);
            match made {
                Ok(area) => return Ok(area),
                Err(errno) if UNUSABLE_BASE.contains(&errno) => {}
                Err(errno) => return Err(failure(errno, "make staging folder", target.asked())),
            }
        }
        self.area_beside(target)
    }

    /// A staging folder inside the file's own folder, for one call.
    pub(super) fn area_beside(&self, target: &Target<'_>) -> Result<Arc<Area>, Error> {
        sweep::sweep_folder(self, target.dir());
        let area = Area::in_folder(target.dir());
        area.map(Arc::new).map_err(|errno| failure(errno, "make staging folder", target.asked()))
    }

    fn area_at_root(&self, stat: &Stat) -> Result<Arc<Area>, Errno> {
        let mut area = self.area.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have removed the folder by hand while we run.
        if let Some(area) = area.as_ref()
            && sys::stat(&area.dir).is_ok_and(|stat| stat.nlink > 0)
        {
            return Ok(Arc::clone(area));
        }
        let made = Arc::new(Area::at_root(&self.dir.handle, stat)?);
        *area = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// What of the name of the staging folder at the root means that it is not for us.
const UNUSABLE_BASE: &[Errno] =
    &[Errno::XDEV, Errno::ROFS, Errno::ACCESS, Errno::PERM, Errno::NOTDIR, Errno::LOOP];

/// The name is one that we give to a staging folder: the prefix and 12 characters of base32, and nothing else.
pub(crate) fn is_instance(name: &OsStr, prefix: &str) -> bool {
    let id = name.as_encoded_bytes().strip_prefix(prefix.as_bytes());
    id.is_some_and(|id| id.len() == 12 && id.iter().all(|letter| BASE32.contains(letter)))
}

/// 60 random bits as 12 characters of base32.
pub(crate) fn random_name() -> String {
    let bits = RandomState::new().hash_one(std::process::id());
    (0..12).map(|digit| char::from(BASE32[usize::try_from(bits >> (5 * digit) & 31).unwrap_or(0)])).collect()
}

/// RFC 4648 base32, in lower case.
pub(crate) const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A name in an area; what stands there is unlinked on drop, unless it is to stay.
#[derive(Debug)]
pub(crate) struct Slot {
    area: Arc<Area>,
    name: OsString,
    stays: bool,
}

impl Slot {
    /// Reserves the next free name; nothing is made.
    pub(crate) fn reserve(area: &Arc<Area>) -> Self {
        Self { area: Arc::clone(area), name: area.next_name(), stays: true }
    }

    /// Another free name in the same folder.
    pub(crate) fn beside(&self) -> Self {
        Self::reserve(&self.area)
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &OwnedFd {
        self.area.dir()
    }

    /// The name.
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Something of ours, or accounted for, now stands at the name.
    pub(crate) fn fill(&mut self) {
        self.stays = false;
    }

    /// What stands at the name is not ours to unlink, or has gone elsewhere.
    pub(crate) fn keep(&mut self) {
        self.stays = true;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        if let Err(errno) = sys::unlink(self.area.dir(), &self.name)
            && errno != Errno::NOENT
        {
            tracing::warn!(?errno, "staged bytes stay in the staging folder for the next sweep");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(scratch: &tempfile::TempDir) -> (OwnedFd, Stat) {
        let root = sys::open_path(scratch.path().as_os_str(), FOLDER).unwrap();
        let stat = sys::stat(&root).unwrap();
        (root, stat)
    }

    #[test]
    fn an_area_is_hidden_private_and_gone_at_the_end() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, stat) = root(&scratch);
        let area = Area::at_root(&dir, &stat).unwrap();
        let base = scratch.path().join(BASE);
        assert_eq!(std::fs::read_to_string(base.join(GITIGNORE)).unwrap(), "*\n");
        assert_eq!(sys::stat_at(&dir, OsStr::new(BASE)).unwrap().mode, 0o700);
        drop(area);
        assert!(!base.exists());
    }

    #[test]
    fn another_instance_keeps_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, stat) = root(&scratch);
        let (one, other) = (Area::at_root(&dir, &stat).unwrap(), Area::at_root(&dir, &stat).unwrap());
        drop(one);
        assert!(scratch.path().join(BASE).join(GITIGNORE).exists());
        drop(other);
        assert!(!scratch.path().join(BASE).exists());
    }

    #[test]
    fn a_folder_that_a_dead_process_left_bare_is_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, stat) = root(&scratch);
        std::fs::create_dir(scratch.path().join(BASE)).unwrap();
        drop(Area::at_root(&dir, &stat).unwrap());
        std::fs::create_dir(scratch.path().join(BASE)).unwrap();
        let base = sys::open(&dir, OsStr::new(BASE), FOLDER).unwrap();
        remove_base_if_bare(&dir, &base);
        assert!(!scratch.path().join(BASE).exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_used() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), scratch.path().join(BASE)).unwrap();
        let (dir, stat) = root(&scratch);
        assert!(matches!(Area::at_root(&dir, &stat), Err(Errno::LOOP | Errno::NOTDIR)));
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn random_names_differ_and_are_twelve_characters() {
        let (one, other) = (random_name(), random_name());
        assert_ne!(one, other);
        assert_eq!(one.len(), 12);
    }
}
