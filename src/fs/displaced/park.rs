//! Parking: foreign bytes that cannot be put back are kept outside the vault, under an id that the caller is told.

use std::{
    ffi::OsStr,
    hash::{BuildHasher, RandomState},
    os::fd::OwnedFd,
    time::SystemTime,
};

use rustix::{fs::OFlags, io::Errno};
use serde::Serialize;

use super::super::{
    HostPath, Root,
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
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// Moves what stands in a slot into the vault's history and answers the entry's id.
///
/// On an error the bytes stay where they are; a slot's content is never unlinked before its copy is flushed.
pub(crate) fn park(root: &Root, slot: &mut Slot, path: &str, kind: Kind) -> Result<String, Errno> {
    slot.keep();
    keep(root, slot.dir(), slot.name(), Some(path), kind)
}

/// The same for any name in a staging folder. `path` is where the bytes stood, when that is known.
pub(super) fn keep(
    root: &Root,
    dir: &OwnedFd,
    name: &OsStr,
    path: Option<&str>,
    kind: Kind,
) -> Result<String, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = sys::open(dir, name, flags)?;
    let size = sys::stat(&file)?.size;
    let hash = read::hash_of(&file, size)?;
    let history = make_folders(&history_path(root))?;
    let id = entry_id();
    sys::make_folder(&history, OsStr::new(&id), 0o700)?;
    let entry = sys::open(&history, OsStr::new(&id), FOLDER)?;
    write_meta(&entry, &meta(&id, kind, path, hash, size))?;
    move_in(dir, name, &file, &entry)?;
    sys::sync_folder(&entry)?;
    sys::sync_folder(&history)?;
    Ok(id)
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

/// By rename on the same mount; else by a flushed copy, after which the name in the staging folder goes.
fn move_in(dir: &OwnedFd, name: &OsStr, file: &OwnedFd, entry: &OwnedFd) -> Result<(), Errno> {
    match sys::rename_over(dir, name, entry, OsStr::new(CONTENT)) {
        Err(Errno::XDEV) => {}
        other => return other,
    }
    let copy = sys::create_exclusive(entry, OsStr::new(CONTENT), 0o600, Step::StageNamed)?;
    copy_bytes(file, &copy)?;
    sys::sync_file(&copy)?;
    sys::unlink(dir, name)
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
