//! Reading: bytes, hash and stat of one look through one handle.

use std::{
    io::{self, Write},
    ops::{ControlFlow, Range},
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{OFlags, ResolveFlags},
    io::Errno,
};

use super::{
    Place, Root,
    context::{IoContext, failure},
    resolve,
    sys::{self, Stat},
};
use crate::{
    error::{Error, PathError, WriteError},
    text::{ContentHash, Hasher},
};

/// How often a file that keeps moving is looked at before the call gives up.
const LOOKS: usize = 3;
/// How long another program's write lease is waited for.
const LEASE_PATIENCE: Duration = Duration::from_millis(100);
/// Files are streamed in steps of this size.
const STEP: usize = 1024 * 1024;

/// An open regular file of the vault.
#[derive(Debug)]
pub struct VaultFile {
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    asked: String,
}

/// One consistent look at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The bytes of the window asked for.
    pub bytes: Vec<u8>,
    /// Of the whole file; absent when it is larger than the caller hashes.
    pub hash: Option<ContentHash>,
    /// Of the whole file.
    pub size: u64,
    /// The modification time: seconds and nanoseconds since the epoch.
    pub modified: (i64, u32),
}

impl Root {
    /// Opens the regular file at a place.
    ///
    /// A fifo, socket or device is never opened for reading; a file under another program's write lease is waited for
    /// briefly (`vault_busy`).
    pub fn open_file(&self, place: &Place) -> Result<VaultFile, Error> {
        let leaf = place.leaf.ok_or_else(|| resolve::missing_file(place.path(), Vec::new()))?;
        place.refuse_special(&leaf)?;
        let file = open_leaf(place)?;
        let stat = sys::stat(&file).at("stat", place.asked())?;
        place.refuse_special(&stat)?;
        Ok(VaultFile { file, stat, asked: place.asked().to_owned() })
    }
}

/// Opens the name itself, never a link at it, and without waiting for a fifo's writer.
fn open_leaf(place: &Place) -> Result<OwnedFd, Error> {
    let start = Instant::now();
    loop {
        match open_once(place) {
            Ok(file) => return Ok(file),
            Err(Errno::AGAIN) if start.elapsed() < LEASE_PATIENCE => thread::sleep(Duration::from_millis(2)),
            Err(Errno::AGAIN) => {
                let waited_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                return Err(WriteError::VaultBusy { path: place.asked().to_owned(), waited_ms }.into());
            }
            Err(Errno::NOENT) => return Err(resolve::missing_file(place.path(), Vec::new())),
            Err(errno) => return Err(failure(errno, "open", place.asked())),
        }
    }
}

pub(super) fn open_once(place: &Place) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match sys::open_beneath(resolve::handle(place), place.name(), flags, ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => sys::open(resolve::handle(place), place.name(), flags),
        other => other,
    }
}

impl VaultFile {
    /// The size when it was opened.
    pub const fn size(&self) -> u64 {
        self.stat.size
    }

    /// Looks at the file once: the bytes of the window and the hash of the whole, both of one state.
    ///
    /// A window past the end is cut there. No hash is taken of a file over `hash_cap` bytes; only the window is read
    /// then. `file_changing` when three looks in a row saw the file move.
    pub fn look(&self, window: Range<u64>, hash_cap: u64) -> Result<Look, Error> {
        self.look_and_stat(window, hash_cap).map(|(look, _)| look)
    }

    /// The same, with the stat that the look belongs to.
    pub(super) fn look_and_stat(&self, window: Range<u64>, hash_cap: u64) -> Result<(Look, Stat), Error> {
        for _ in 0..LOOKS {
            let before = sys::stat(&self.file).at("stat", &self.asked)?;
            let Some((bytes, hash)) = self.scan(&before, &window, hash_cap)? else { continue };
            let after = sys::stat(&self.file).at("stat", &self.asked)?;
            if before.unmoved(&after) {
                return Ok((Look { bytes, hash, size: after.size, modified: after.mtime }, after));
            }
        }
        Err(PathError::FileChanging { path: self.asked.clone() }.into())
    }

    /// The whole file and its hash.
    pub fn whole(&self, hash_cap: u64) -> Result<Look, Error> {
        self.look(0..u64::MAX, hash_cap)
    }

    /// The hash alone.
    pub fn hash(&self, hash_cap: u64) -> Result<Look, Error> {
        self.look(0..0, hash_cap)
    }

    /// Writes a range of the file out as it is read, in constant memory; the inner result is that of `out`.
    ///
    /// What went out is not taken back: `file_changing` says that it may be of two states.
    pub fn copy_to(&self, range: Range<u64>, out: &mut dyn Write) -> Result<io::Result<()>, Error> {
        let before = sys::stat(&self.file).at("stat", &self.asked)?;
        let mut written = Ok(());
        stream(&self.file, range.start, range.end.min(before.size), before.size, |_, step| {
            written = out.write_all(step);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .at("read", &self.asked)?;
        if written.is_ok() && !sys::stat(&self.file).at("stat", &self.asked)?.unmoved(&before) {
            return Err(PathError::FileChanging { path: self.asked.clone() }.into());
        }
        Ok(written)
    }

    /// One pass; none when the file was seen to have grown.
    fn scan(&self, stat: &Stat, window: &Range<u64>, hash_cap: u64) -> Result<Option<Scanned>, Error> {
        let whole = stat.size <= hash_cap;
        let (from, to) = if whole { (0, u64::MAX) } else { (window.start, window.end) };
        let mut bytes = Vec::new();
        let mut hash = Hasher::default();
        let mut end = 0;
        stream(&self.file, from, to, stat.size, |offset, step| {
            if whole {
                hash.update(step);
            }
            bytes.extend_from_slice(overlap(offset, step, window));
            end = offset + step.len() as u64;
            ControlFlow::Continue(())
        })
        .at("read", &self.asked)?;
        Ok((end <= stat.size).then(|| (bytes, whole.then(|| hash.finish()))))
    }
}

/// The window's bytes, and the hash of the whole where it was taken.
type Scanned = (Vec<u8>, Option<ContentHash>);

/// The part of a step that lies in the window.
fn overlap<'a>(offset: u64, step: &'a [u8], window: &Range<u64>) -> &'a [u8] {
    let place = |at: u64| usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX).min(step.len());
    let (start, end) = (place(window.start), place(window.end));
    if start < end { &step[start..end] } else { &[] }
}

/// Hands the bytes from `from` to `to`, or to the end, to `each` in steps, for as long as it wants them.
///
/// A file that grows meanwhile is not followed: at most one byte past `size` is handed out, which shows that it grew.
fn stream(
    file: &OwnedFd,
    from: u64,
    to: u64,
    size: u64,
    mut each: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<(), Errno> {
    let to = to.min(size.saturating_add(1));
    let wanted = usize::try_from(to.saturating_sub(from)).unwrap_or(STEP).min(STEP);
    let mut buffer = vec![0; wanted];
    let mut offset = from;
    while offset < to {
        let room = usize::try_from(to - offset).unwrap_or(STEP).min(wanted);
        let count = sys::read_at(file, &mut buffer[..room], offset)?;
        if count == 0 || each(offset, &buffer[..count]).is_break() {
            break;
        }
        offset += count as u64;
        if offset >= size && count < room {
            break;
        }
    }
    Ok(())
}

/// The hash of all bytes of an open file, as they are now.
pub(super) fn hash_of(file: &OwnedFd, size: u64) -> Result<ContentHash, Errno> {
    let mut hasher = Hasher::default();
    stream(file, 0, u64::MAX, size, |_, step| {
        hasher.update(step);
        ControlFlow::Continue(())
    })?;
    Ok(hasher.finish())
}

/// The same of a file whose bytes were hashed before: bytes that are equal have the hash that is known.
pub(super) fn hash_again(
    file: &OwnedFd,
    size: u64,
    bytes: &[u8],
    known: ContentHash,
) -> Result<ContentHash, Errno> {
    let (mut rest, mut same) = (bytes, size == bytes.len() as u64);
    if same {
        stream(file, 0, u64::MAX, size, |_, step| {
            let after = rest.strip_prefix(step);
            same = after.is_some();
            rest = after.unwrap_or_default();
            if same { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    if same && rest.is_empty() { Ok(known) } else { hash_of(file, size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fs::{Lookup, root::scratch},
        path::VaultPath,
    };

    fn look(bytes: &[u8], window: Range<u64>, cap: u64) -> Look {
        let (folder, root) = scratch();
        std::fs::write(folder.path().join("a.bin"), bytes).unwrap();
        let place = root.place(&VaultPath::parse("a.bin").unwrap(), Lookup::Read).unwrap();
        root.open_file(&place).unwrap().look(window, cap).unwrap()
    }

    #[test]
    fn a_window_comes_with_the_hash_of_the_whole() {
        let found = look(b"hello\n", 1..3, 100);
        assert_eq!(found.bytes, b"el");
        assert_eq!(found.hash, Some(ContentHash::of(b"hello\n")));
        assert_eq!(found.size, 6);
    }

    #[test]
    fn windows_of_a_file_of_several_steps_join_to_the_whole() {
        let bytes: Vec<u8> = (0..3 * STEP + 17).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let middle = STEP as u64 - 5;
        let first = look(&bytes, 0..middle, u64::MAX);
        let rest = look(&bytes, middle..u64::MAX, u64::MAX);
        assert_eq!([first.bytes, rest.bytes].concat(), bytes);
        assert_eq!(first.hash, Some(ContentHash::of(&bytes)));
    }

    #[test]
    fn over_the_cap_only_the_window_is_read_and_no_hash_is_given() {
        let found = look(b"hello\n", 2..4, 5);
        assert_eq!((found.bytes.as_slice(), found.hash), (&b"ll"[..], None));
    }

    #[test]
    fn an_empty_file_and_a_window_past_the_end_are_empty() {
        assert_eq!(look(b"", 0..u64::MAX, 9).hash, Some(ContentHash::of(b"")));
        assert_eq!(look(b"abc", 9..12, 9).bytes, b"");
    }

    #[test]
    fn equal_bytes_have_the_known_hash_and_all_others_their_own() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a");
        let (known, old) = (ContentHash::of(b"known"), b"hello\n");
        for (now, expected) in [
            (&b"hello\n"[..], known),
            (b"hullo\n", ContentHash::of(b"hullo\n")),
            (b"hello", ContentHash::of(b"hello")),
            (b"hello\n!", ContentHash::of(b"hello\n!")),
            (b"", ContentHash::of(b"")),
        ] {
            std::fs::write(&path, now).unwrap();
            let file = OwnedFd::from(std::fs::File::open(&path).unwrap());
            assert_eq!(hash_again(&file, now.len() as u64, old, known), Ok(expected), "{now:?}");
        }
    }
}
