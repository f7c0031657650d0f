//! Parking: foreign bytes that cannot be put back are kept outside the vault, under an id that the caller is told.

use std::{
    ffi::{OsStr, OsString},
    hash::{BuildHasher, RandomState},
    os::fd::OwnedFd,
    time::SystemTime,
};

use rustix::{fs::OFlags, io::Errno};
use serde::Serialize;

use super::super::{
    HostPath, Root, host,
    publish::area::{BASE32, Slot},
    read,
    sys::{self, Step},
};
use crate::text::ContentHash;

/// Why bytes were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Another writer's bytes that a swap displaced and could not put back.
    Conflict,
    /// Left in the staging folder of a process that died.
    Recovered,
}

/// `meta.json` of an entry.
#[derive(Serialize)]
struct Meta<'a> {
    v: u8,
    id: &'a str,
    kind: Kind,
    path: Option<&'a str>,
    hash: String,
    size: u64,
    time: String,
}

const META: &str = "meta.json";
const CONTENT: &str = "content";
/// The most that is read of a `meta.json`.
const META_MAX: u64 = 64 * 1024;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Moves what stands in a slot into the vault's history and answers the entry's id.
///
/// On an error the bytes stay where they are; a slot's content is never unlinked before its copy is flushed.
pub(crate) fn park(root: &Root, slot: &mut Slot, path: &str, kind: Kind) -> Result<String, Errno> {
    slot.keep();
    keep(root, slot.dir(), slot.name(), Some(path), kind)
}

/// The same for any name in a staging folder. `path` is where the bytes stood, when that is known.
///
/// An entry is there whole or not at all: `meta.json` comes last, and what fails before is removed again.
pub(super) fn keep(
    root: &Root,
    dir: &OwnedFd,
    name: &OsStr,
    path: Option<&str>,
    kind: Kind,
) -> Result<String, Errno> {
    let file = sys::open(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
    let size = sys::stat(&file)?.size;
    let hash = read::hash_of(&file, size)?;
    let history = make_folders(&history_path(root))?;
    let id = entry_id();
    sys::make_folder(&history, OsStr::new(&id), 0o700)?;
    let entry = sys::open(&history, OsStr::new(&id), FOLDER)?;
    let moved = move_in(dir, name, &file, &entry).inspect_err(|_| forget(&history, &entry, &id))?;
    let finished = write_meta(&entry, &meta(&id, kind, path, hash, size))
        .and_then(|()| sys::sync_folder(&entry))
        .and_then(|()| sys::sync_folder(&history))
        .and_then(|()| moved.leave(dir, name));
    match finished {
        Ok(()) => Ok(id),
        Err(errno) => {
            if moved.take_back(dir, name, &entry) {
                forget(&history, &entry, &id);
            }
            Err(errno)
        }
    }
}

/// The history has an entry of these bytes.
pub(super) fn holds(root: &Root, hash: ContentHash) -> bool {
    let path = history_path(root);
    let Ok(history) = sys::open_path(path.as_path().as_os_str(), FOLDER) else { return false };
    let mut ids = Vec::new();
    let listed = sys::for_each_name(&history, |id, _| ids.push(sys::os_name(id).to_owned()));
    let hash = hash.to_string();
    let is_of = |id: &OsString| {
        let meta = host::read(&path.join(id).join(META), META_MAX);
        meta.is_ok_and(|(meta, _)| String::from_utf8_lossy(&meta).contains(&hash))
    };
    listed.is_ok() && ids.iter().any(is_of)
}

/// Removes an entry that could not be finished.
fn forget(history: &OwnedFd, entry: &OwnedFd, id: &str) {
    for name in [META, CONTENT] {
        if let Err(errno) = sys::unlink(entry, OsStr::new(name))
            && errno != Errno::NOENT
        {
            tracing::warn!(?errno, "an unfinished entry of the history stays");
        }
    }
    if let Err(errno) = sys::remove_folder(history, OsStr::new(id)) {
        tracing::warn!(?errno, "an unfinished entry of the history stays");
    }
}

/// Where the history of a vault is.
pub(crate) fn history_path(root: &Root) -> HostPath {
    root.config.state_dir.join(root.vault_id()).join("history")
}

fn meta<'a>(id: &'a str, kind: Kind, path: Option<&'a str>, hash: ContentHash, size: u64) -> Meta<'a> {
    let time = jiff::Timestamp::now().to_string();
    Meta { v: 1, id, kind, path, hash: hash.to_string(), size, time }
}

fn write_meta(entry: &OwnedFd, meta: &Meta<'_>) -> Result<(), Errno> {
    let text = serde_json::to_vec(meta).map_err(|_| Errno::INVAL)?;
    let file = sys::create_exclusive(entry, OsStr::new(META), 0o600, Step::StageNamed)?;
    write_all(&file, &text)?;
    sys::sync_file(&file)
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let count = sys::write(file, bytes)?;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// How bytes came into an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// On the same mount; the name in the staging folder is gone.
    Renamed,
    /// By a flushed copy; the name in the staging folder is still there.
    Copied,
}

impl Moved {
    /// The entry is finished: the name in the staging folder goes.
    fn leave(self, dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        match self {
            Self::Renamed => Ok(()),
            Self::Copied => sys::unlink(dir, name),
        }
    }

    /// The entry could not be finished: the bytes go back to where they were; answers whether they are there.
    fn take_back(self, dir: &OwnedFd, name: &OsStr, entry: &OwnedFd) -> bool {
        let back = match self {
            Self::Renamed => sys::rename_new(entry, OsStr::new(CONTENT), dir, name),
            Self::Copied => Ok(()),
        };
        if let Err(errno) = back {
            tracing::error!(?errno, "bytes stay in an unfinished entry of the history");
        }
        back.is_ok()
    }
}

/// By rename on the same mount; else by a flushed copy.
fn move_in(dir: &OwnedFd, name: &OsStr, file: &OwnedFd, entry: &OwnedFd) -> Result<Moved, Errno> {
    match sys::rename_over(dir, name, entry, OsStr::new(CONTENT)) {
        Err(Errno::XDEV) => {}
        other => return other.map(|()| Moved::Renamed),
    }
    let copy = sys::create_exclusive(entry, OsStr::new(CONTENT), 0o600, Step::StageNamed)?;
    copy_bytes(file, &copy)?;
    sys::sync_file(&copy)?;
    Ok(Moved::Copied)
}

fn copy_bytes(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let mut buffer = vec![0; 1024 * 1024];
    let mut offset = 0;
    loop {
        match sys::read_at(from, &mut buffer, offset)? {
            0 => return Ok(()),
            count => {
                write_all(to, &buffer[..count])?;
                offset += count as u64;
            }
        }
    }
}

/// Makes a folder of our own and those above it, private.
fn make_folders(path: &HostPath) -> Result<OwnedFd, Errno> {
    let opened = sys::open_path(path.as_path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY);
    if !matches!(opened, Err(Errno::NOENT)) {
        return opened;
    }
    let parent = path.parent().ok_or(Errno::NOENT)?;
    let parent = make_folders(&parent)?;
    let name = path.name();
    match sys::make_folder(&parent, OsStr::new(&name), 0o700) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    sys::open(&parent, OsStr::new(&name), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// 26 characters of base32 that sort by time: 50 bits of milliseconds, 80 random bits.
fn entry_id() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_millis());
    let random = RandomState::new();
    let noise = u128::from(random.hash_one(now)) << 64 | u128::from(random.hash_one(!now));
    let digits = |value: u128, count: u32| {
        (0..count).rev().map(move |at| SORTED32[usize::try_from(value >> (5 * at) & 31).unwrap_or(0)] as char)
    };
    digits(now, 10).chain(digits(noise, 16)).collect()
}

/// The characters of [`BASE32`] in the order of their codes, so that ids sort as text.
const SORTED32: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
const _: () = assert!(BASE32.len() == SORTED32.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_26_characters_that_sort_by_time() {
        let first = entry_id();
        while entry_id()[..10] == first[..10] {
            std::hint::spin_loop();
        }
        let second = entry_id();
        assert_eq!(first.len(), 26);
        assert!(first < second, "{first} {second}");
    }
}
