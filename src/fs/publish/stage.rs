//! Staging: the whole new content on the vault's mount, where nobody reads it.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

use rustix::io::Errno;

use super::{
    super::{
        Root,
        context::{IoContext, failure},
        read,
        source::{Source, check_source, pour_through},
        sys::{self, LinkForm, Stat, Step},
    },
    Content,
    area::{Area, Slot},
    target::Target,
};
use crate::{
    error::{Error, PathError, WriteError},
    text::ContentHash,
};

/// Streams go through a buffer of this size, and larger contents are hashed beside the write.
const STEP: usize = 1024 * 1024;

/// Content that was written whole and flushed as the level says, without a public name.
///
/// Dropping it leaves nothing. The order counts: its name is unlinked while the handle is open. The other way about, a
/// FUSE daemon may be told of the two at once, take the file for an open one, and leave it under a name of its own.
#[derive(Debug)]
pub(super) struct Staged {
    /// Its name in a staging folder; none while it has no name at all.
    pub(super) slot: Option<Slot>,
    /// Read-only, but where `/proc` does not let it be reopened.
    pub(super) file: OwnedFd,
    pub(super) hash: ContentHash,
    pub(super) size: u64,
    pub(super) stat: Stat,
}

/// Which errors of `open(O_TMPFILE)` mean that the file system has no unnamed files; tempfile(3) and systemd agree.
pub(in crate::fs) const NO_UNNAMED: &[Errno] = &[Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT, Errno::INVAL];

/// Opens an unnamed file in a folder; none where the file system has no such thing.
pub(super) fn open_unnamed(
    root: &Root,
    target: &Target<'_>,
    dir: &OwnedFd,
) -> Result<Option<OwnedFd>, Error> {
    if root.config.max_tier.0 > 1 || !target.mount.unnamed.worth_trying() {
        return Ok(None);
    }
    let opened = sys::stage_unnamed(dir);
    match opened {
        Err(_) if target.is_removed() => return Err(target.moved(false)),
        _ => target.mount.unnamed.learn(&opened, NO_UNNAMED),
    }
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(errno) if NO_UNNAMED.contains(&errno) => Ok(None),
        Err(errno) => Err(failure(errno, "stage", target.asked())),
    }
}

/// Stages, and once more into a new file when the flush of the first failed.
///
/// A flush is never repeated on the same file: the kernel reports an error once and may then have dropped the data.
pub(super) fn twice<T>(
    content: &mut Content,
    mut once: impl FnMut(&mut Content) -> Result<T, Error>,
) -> Result<T, Error> {
    match once(content) {
        Err(Error::Write(WriteError::IoError { step: FLUSH, .. })) if content.can_be_read_again() => {
            once(content)
        }
        other => other,
    }
}

/// The step of a flush that failed.
pub(super) const FLUSH: &str = "flush";

/// When staged bytes are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// As soon as they are written.
    Now,
    /// By the caller, together with others, and before they get their name.
    Later,
}

/// For whom bytes are staged.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) root: &'a Root,
    pub(super) asked: &'a str,
    pub(super) flush: Flush,
}

/// Opens a new file under a name in a staging folder.
pub(super) fn open_named(area: &Arc<Area>, mode: u32, asked: &str) -> Result<(OwnedFd, Slot), Error> {
    let mut slot = Slot::reserve(area);
    let file = sys::create_exclusive(slot.dir(), slot.name(), mode, Step::StageNamed).at("stage", asked)?;
    slot.fill();
    Ok((file, slot))
}

/// Fills an open staged file, lets `dress` give it its metadata, flushes it, and gives up the right to write to it.
///
/// The descriptor that could write is closed here, since it would make every lease on the published file fail.
pub(super) fn fill(
    call: Call<'_>,
    writer: OwnedFd,
    slot: Option<Slot>,
    content: &mut Content,
    dress: impl FnOnce(&OwnedFd, &Stat) -> Result<(), Errno>,
) -> Result<Staged, Error> {
    let Call { root, asked, flush } = call;
    let (hash, size) = pour(&writer, content, root.config.max_write_bytes, asked)?;
    let written = sys::stat(&writer).at("stat", asked)?;
    let reader = reopened(&writer, &written, slot.as_ref());
    dress(reader.as_ref().unwrap_or(&writer), &written).at("set times", asked)?;
    if root.config.durable && flush == Flush::Now {
        sys::sync_file(&writer).at(FLUSH, asked)?;
    }
    let file = match reader {
        Some(reader) => {
            drop(writer);
            reader
        }
        None => writer,
    };
    let stat = sys::stat(&file).at("stat", asked)?;
    Ok(Staged { slot, file, hash, size, stat })
}

/// A read-only handle on the staged file, proved to be it.
fn reopened(writer: &OwnedFd, written: &Stat, slot: Option<&Slot>) -> Option<OwnedFd> {
    let reader = match slot {
        Some(slot) => {
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW;
            sys::open(slot.dir(), slot.name(), flags)
        }
        None => sys::reopen_read_only(writer),
    };
    let reader = reader.ok()?;
    let same = sys::stat(&reader).ok()?.is(written);
    same.then_some(reader)
}

/// Writes the content and hashes it on the way; it is never read back.
fn pour(file: &OwnedFd, content: &mut Content, cap: u64, asked: &str) -> Result<(ContentHash, u64), Error> {
    match content {
        Content::Bytes(bytes) => {
            let size = bytes.len() as u64;
            PathError::refuse_over_write_cap(asked, size, cap)?;
            pour_bytes(file, bytes).at("write", asked).map(|hash| (hash, size))
        }
        Content::Stream(stream, expected) => {
            let (hash, size) = pour_stream(file, stream.as_mut(), cap, asked)?;
            check_source(*expected, hash)?;
            Ok((hash, size))
        }
        Content::File(source) => pour_file(file, source, cap, asked),
    }
}

fn pour_bytes(file: &OwnedFd, bytes: &[u8]) -> Result<ContentHash, Errno> {
    if bytes.len() < STEP {
        write_all(file, bytes)?;
        return Ok(ContentHash::of(bytes));
    }
    allocate(file, bytes.len() as u64)?;
    thread::scope(|scope| {
        let hashing = scope.spawn(|| ContentHash::of(bytes));
        let written = write_all(file, bytes);
        let hash = hashing.join().map_err(|_| Errno::IO)?;
        written.map(|()| hash)
    })
}

fn pour_stream(
    file: &OwnedFd,
    stream: &mut dyn std::io::Read,
    cap: u64,
    asked: &str,
) -> Result<(ContentHash, u64), Error> {
    pour_through(stream, cap, asked, |step| write_all(file, step).at("write", asked))
}

/// Copies an open file, sharing its blocks where the file systems can; the source must not move meanwhile.
///
/// Shared blocks are hashed as they stand in our file: the source could change between the sharing and a look at it.
fn pour_file(file: &OwnedFd, source: &Source, cap: u64, asked: &str) -> Result<(ContentHash, u64), Error> {
    if sys::clone_blocks(&source.file, file).is_err() {
        return source.hash_through(cap, asked, |step| write_all(file, step).at("write", asked));
    }
    let size = sys::stat(file).at("stat", asked)?.size;
    PathError::refuse_over_write_cap(asked, size, cap)?;
    let hash = read::hash_of(file, size).at("read staged", asked)?;
    source.check(hash, size)?;
    Ok((hash, size))
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match sys::write(file, bytes)? {
            0 => return Err(Errno::IO),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Finds out early that there is no room; file systems without the call are no worse off.
fn allocate(file: &OwnedFd, size: u64) -> Result<(), Errno> {
    match sys::allocate(file, size) {
        Err(Errno::NOSPC | Errno::DQUOT) => Err(Errno::NOSPC),
        _ => Ok(()),
    }
}

/// The link form that works here: 0 unknown, 1 by empty path, 2 through `/proc`.
static LINK_FORM: AtomicU8 = AtomicU8::new(0);

/// Gives an unnamed file a name that must be free.
///
/// `ENOENT` from the first form means a kernel before 6.10 without the capability, unless the folder is gone.
pub(in crate::fs) fn link_unnamed(file: &OwnedFd, dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    if LINK_FORM.load(Ordering::Relaxed) != 2 {
        match sys::link_unnamed(file, LinkForm::EmptyPath, dir, name) {
            Err(Errno::NOENT | Errno::PERM | Errno::INVAL) if LINK_FORM.load(Ordering::Relaxed) == 0 => {}
            other => {
                if other.is_ok() {
                    LINK_FORM.store(1, Ordering::Relaxed);
                }
                return other;
            }
        }
    }
    let linked = sys::link_unnamed(file, LinkForm::ProcSelfFd, dir, name);
    if linked.is_ok() {
        LINK_FORM.store(2, Ordering::Relaxed);
    }
    linked
}

/// The link form in use, for people.
pub(in crate::fs) fn link_form() -> &'static str {
    match LINK_FORM.load(Ordering::Relaxed) {
        1 => "empty_path",
        2 => "proc_self_fd",
        _ => "none",
    }
}

impl Staged {
    /// Links an unnamed staged file into a staging folder.
    pub(super) fn link_into(&mut self, area: &Arc<Area>) -> Result<(), Errno> {
        let mut slot = Slot::reserve(area);
        link_unnamed(&self.file, slot.dir(), slot.name())?;
        slot.fill();
        self.slot = Some(slot);
        Ok(())
    }
}
