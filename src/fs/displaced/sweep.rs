//! Cleaning up after processes that died: their staging folders, and what stands in them.

use std::{
    ffi::{OsStr, OsString},
    os::fd::OwnedFd,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{
    super::{
        Root,
        publish::area::{BASE, IN_FOLDER, is_instance, remove_base_if_bare},
        read, sys,
    },
    park::{self, Kind},
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);
/// On mounts that other hosts share, locks say nothing of a process there: only old leftovers are taken.
const REMOTE_AGE: Duration = Duration::from_hours(24);

/// Sweeps the staging folder at the vault's root, and the dot-folders of dead calls and probes beside it.
///
/// A folder whose owner lives is locked and left alone. Each leftover of a dead one is kept in the history as
/// `recovered`, unless it is empty, and then removed. Trouble is logged and never an error: the next sweep comes by.
pub(crate) fn sweep_root(root: &Root) {
    if sys::space(&root.dir.handle).is_ok_and(|space| space.read_only) {
        return;
    }
    sweep_folder(root, &root.dir.handle);
    let base = match sys::open(&root.dir.handle, OsStr::new(BASE), FOLDER) {
        Ok(base) => base,
        Err(errno) => {
            if !matches!(errno, Errno::NOENT) {
                tracing::debug!(?errno, "the staging folder was not swept");
            }
            return;
        }
    };
    for name in folders_in(&base, "") {
        report(sweep(root, &base, &name));
    }
    remove_base_if_bare(&root.dir.handle, &base);
}

/// Sweeps the dot-folders of dead calls inside a note's folder.
pub(crate) fn sweep_folder(root: &Root, folder: &OwnedFd) {
    for name in folders_in(folder, IN_FOLDER) {
        report(sweep(root, folder, &name));
    }
}

fn report(swept: Result<(), Errno>) {
    if let Err(errno) = swept {
        tracing::debug!(?errno, "a staging folder was not swept");
    }
}

fn folders_in(dir: &OwnedFd, prefix: &str) -> Vec<OsString> {
    names_in(dir, |name, kind| {
        matches!(kind, FileType::Directory | FileType::Unknown) && is_instance(name, prefix)
    })
}

fn names_in(dir: &OwnedFd, wanted: impl Fn(&OsStr, FileType) -> bool) -> Vec<OsString> {
    let mut names = Vec::new();
    let listed = sys::open(dir, OsStr::new("."), FOLDER).and_then(|fresh| {
        sys::for_each_name(&fresh, |name, kind| {
            let name = sys::os_name(name);
            if wanted(name, kind) {
                names.push(name.to_owned());
            }
        })
    });
    if let Err(errno) = listed {
        tracing::debug!(?errno, "a staging folder could not be listed");
    }
    names
}

/// Sweeps one instance's folder, if it is ours and its owner is dead: its lock is free and it still has its name.
fn sweep(root: &Root, holder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let dir = sys::open(holder, name, FOLDER)?;
    let (stat, above) = (sys::stat(&dir)?, sys::stat(holder)?);
    let ours = stat.uid == rustix::process::geteuid().as_raw();
    if !ours || (stat.mount, stat.dev) != (above.mount, above.dev) {
        return Ok(());
    }
    match sys::try_lock(&dir) {
        Err(Errno::WOULDBLOCK) => return Ok(()),
        other => other?,
    }
    let leftovers = names_in(&dir, |_, _| true);
    if !sys::stat_at(holder, name)?.is(&stat) || is_maybe_alive_elsewhere(root, &dir, &stat, &leftovers) {
        return Ok(());
    }
    for leftover in leftovers {
        if let Err(errno) = recover(root, &dir, &leftover) {
            tracing::warn!(?errno, "something left by a process that died stays in the staging folder");
        }
    }
    sys::remove_folder(holder, name)
}

/// On a mount that other hosts share, only what nobody has touched for long is taken for dead; a time that lies ahead
/// is another host's clock.
fn is_maybe_alive_elsewhere(root: &Root, dir: &OwnedFd, stat: &sys::Stat, leftovers: &[OsString]) -> bool {
    let recent = |stat: &sys::Stat| {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.mtime.0).unwrap_or(0));
        !SystemTime::now().duration_since(changed).is_ok_and(|age| age >= REMOTE_AGE)
    };
    root.mounts.of(stat).facts.is_remote()
        && (recent(stat)
            || leftovers.iter().any(|name| sys::stat_at(dir, name).is_ok_and(|stat| recent(&stat))))
}

/// Keeps a leftover's bytes in the history. What is no file, and was displaced by an exchange, stays where it is.
fn recover(root: &Root, dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let stat = sys::stat_at(dir, name)?;
    if stat.kind != FileType::RegularFile {
        return Err(Errno::ISDIR);
    }
    if stat.size == 0 {
        return sys::unlink(dir, name);
    }
    let file = sys::open(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW)?;
    if park::holds(root, read::hash_of(&file, stat.size)?) {
        return sys::unlink(dir, name);
    }
    let id = park::keep(root, dir, name, None, Kind::Recovered)?;
    tracing::warn!(id, size = stat.size, "bytes left by a process that died were kept in the history");
    Ok(())
}
