//! Who may publish where: a keyed mutex among the calls of this process, a flock on the folder among processes.
//!
//! Correctness never rests on these; they spare our own calls from losing races against each other.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    os::fd::OwnedFd,
    sync::{Condvar, LazyLock, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use super::sys;
use crate::text::fold;

const SHARDS: usize = 64;

/// A name in a folder: device and inode of the folder, folded name.
pub(crate) type NameKey = (u64, u64, String);

#[derive(Default)]
struct Shard {
    names: Mutex<Names>,
    freed: Condvar,
}

#[derive(Default)]
struct Names {
    taken: HashSet<NameKey>,
    /// Calls that wait for one of them; waking nobody would cost each write a call to the kernel.
    waiting: usize,
}

static SHARDS_OF_NAMES: LazyLock<(RandomState, Vec<Shard>)> =
    LazyLock::new(|| (RandomState::new(), (0..SHARDS).map(|_| Shard::default()).collect()));

/// The right of one call of this process to a name, given back on drop.
#[derive(Debug)]
pub(crate) struct NameLock {
    key: NameKey,
    shard: &'static Shard,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shard")
    }
}

/// A lock was not had in time; how long was waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy(pub(crate) Duration);

impl NameLock {
    /// Waits for the name, at most `limit`.
    pub(crate) fn take(folder: &sys::Stat, name: &str, limit: Duration) -> Result<Self, Busy> {
        let key = (folder.dev, folder.ino, fold::key(name));
        let (hasher, shards) = &*SHARDS_OF_NAMES;
        let index = usize::try_from(hasher.hash_one(&key) % SHARDS as u64).unwrap_or(0);
        let shard = &shards[index];
        let mut names = shard.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.taken.contains(&key) {
            names.waiting += 1;
            let waited = shard.freed.wait_timeout_while(names, limit, |names| names.taken.contains(&key));
            let (woken, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
            names = woken;
            names.waiting -= 1;
            if outcome.timed_out() {
                return Err(Busy(limit));
            }
        }
        names.taken.insert(key.clone());
        Ok(Self { key, shard })
    }
}

impl Drop for NameLock {
    fn drop(&mut self) {
        let mut names = self.shard.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.taken.remove(&self.key);
        if names.waiting > 0 {
            self.shard.freed.notify_all();
        }
    }
}

/// An exclusive flock on a folder, given back on drop.
#[derive(Debug)]
pub(crate) struct FolderLock<'dir>(&'dir OwnedFd);

/// Why a folder could not be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockFailure {
    Busy(Busy),
    Failed(Errno),
}

impl<'dir> FolderLock<'dir> {
    /// Polls for the lock, at most `limit`; the handle must be the call's own, since a flock belongs to it.
    pub(crate) fn take(dir: &'dir OwnedFd, limit: Duration) -> Result<Self, LockFailure> {
        let mut start = None;
        let mut pause = Duration::from_micros(25);
        loop {
            match sys::try_lock(dir) {
                Ok(()) => return Ok(Self(dir)),
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(LockFailure::Failed(errno)),
            }
            let waited = start.get_or_insert_with(Instant::now).elapsed();
            if waited >= limit {
                return Err(LockFailure::Busy(Busy(waited)));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        if let Err(errno) = sys::unlock(self.0) {
            tracing::debug!(?errno, "a folder's lock was not given back by hand; closing the handle does");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use rustix::fs::OFlags;

    use super::*;

    fn folder(scratch: &tempfile::TempDir) -> OwnedFd {
        sys::open_path(scratch.path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY).unwrap()
    }

    #[test]
    fn a_name_is_had_once_in_any_case_and_again_after_it_is_given_back() {
        let scratch = tempfile::tempdir().unwrap();
        let stat = sys::stat(folder(&scratch)).unwrap();
        let held = NameLock::take(&stat, "a.md", Duration::ZERO).unwrap();
        assert!(NameLock::take(&stat, "A.md", Duration::ZERO).is_err());
        assert!(NameLock::take(&stat, "b.md", Duration::ZERO).is_ok());
        drop(held);
        assert!(NameLock::take(&stat, "A.md", Duration::ZERO).is_ok());
    }

    #[test]
    fn a_folder_locked_by_another_handle_is_busy_until_it_is_let_go() {
        let scratch = tempfile::tempdir().unwrap();
        let (one, other) = (folder(&scratch), folder(&scratch));
        let held = FolderLock::take(&one, Duration::ZERO).unwrap();
        let failed = FolderLock::take(&other, Duration::from_millis(5));
        assert!(matches!(failed, Err(LockFailure::Busy(_))));
        drop(held);
        assert!(FolderLock::take(&other, Duration::ZERO).is_ok());
        assert!(sys::open(&other, OsStr::new("."), OFlags::RDONLY).is_ok());
    }
}
