//! Staging: the whole new content on the vault's mount, where nobody reads it.

use std::{
    ffi::OsStr,
    io::Read as _,
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
        sys::{self, LinkForm, Stat, Step},
    },
    Content, Source,
    area::{Area, Slot},
    target::Target,
};
use crate::{
    error::{ArgumentsError, Error, PathError, WriteError},
    text::{ContentHash, Hasher},
};

/// Streams go through a buffer of this size, and larger contents are hashed beside the write.
const STEP: usize = 1024 * 1024;

/// Content that was written whole and flushed as the level says, without a public name.
///
/// Dropping it leaves nothing.
#[derive(Debug)]
pub(super) struct Staged {
    /// Read-only, but where `/proc` does not let it be reopened.
    pub(super) file: OwnedFd,
    pub(super) hash: ContentHash,
    pub(super) size: u64,
    /// Its name in a staging folder; none while it has no name at all.
    pub(super) slot: Option<Slot>,
    pub(super) stat: Stat,
}

/// Which errors of `open(O_TMPFILE)` mean that the file system has no unnamed files; tempfile(3) and systemd agree.
const NO_UNNAMED: &[Errno] = &[Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT, Errno::INVAL];

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

const FLUSH: &str = "flush";

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
    root: &Root,
    asked: &str,
    writer: OwnedFd,
    slot: Option<Slot>,
    content: &mut Content,
    dress: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
) -> Result<Staged, Error> {
    let (hash, size) = pour(&writer, content, root.config.max_write_bytes, asked)?;
    let reader = reopened(&writer, slot.as_ref());
    dress(reader.as_ref().unwrap_or(&writer)).at("set times", asked)?;
    if root.config.durable {
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
    Ok(Staged { file, hash, size, slot, stat })
}

/// A read-only handle on the staged file, proved to be it.
fn reopened(writer: &OwnedFd, slot: Option<&Slot>) -> Option<OwnedFd> {
    let reader = match slot {
        Some(slot) => {
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW;
            sys::open(slot.dir(), slot.name(), flags)
        }
        None => sys::reopen_read_only(writer),
    };
    let reader = reader.ok()?;
    let same = sys::stat(&reader).ok()?.is(&sys::stat(writer).ok()?);
    same.then_some(reader)
}

/// Writes the content and hashes it on the way; it is never read back.
fn pour(file: &OwnedFd, content: &mut Content, cap: u64, asked: &str) -> Result<(ContentHash, u64), Error> {
    match content {
        Content::Bytes(bytes) => {
            let size = bytes.len() as u64;
            check_size(size, cap, asked)?;
            pour_bytes(file, bytes).at("write", asked).map(|hash| (hash, size))
        }
        Content::Stream(stream) => pour_stream(file, stream.as_mut(), cap, asked),
        Content::File(source) => pour_file(file, source, cap, asked),
    }
}

fn check_size(size: u64, cap: u64, asked: &str) -> Result<(), Error> {
    if size <= cap {
        return Ok(());
    }
    Err(too_large(size, cap, asked))
}

fn too_large(size_in_bytes: u64, cap_in_bytes: u64, asked: &str) -> Error {
    let setting = Some("MAX_FILE_WRITE_BYTES");
    PathError::TooLarge { path: asked.to_owned(), size_in_bytes, cap_in_bytes, setting }.into()
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
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; STEP];
    let mut size = 0;
    loop {
        let count = fill_buffer(stream, &mut buffer).map_err(|error| {
            let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
            WriteError::IoError {
                path: asked.to_owned(),
                step: "read source",
                errno: super::super::errno_name(errno),
            }
        })?;
        size += count as u64;
        check_size(size, cap, asked)?;
        hasher.update(&buffer[..count]);
        write_all(file, &buffer[..count]).at("write", asked)?;
        if count < buffer.len() {
            return Ok((hasher.finish(), size));
        }
    }
}

/// Reads until the buffer is full or the stream ends.
fn fill_buffer(stream: &mut dyn std::io::Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Copies an open file, sharing its blocks where the file systems can; the source must not move meanwhile.
fn pour_file(file: &OwnedFd, source: &Source, cap: u64, asked: &str) -> Result<(ContentHash, u64), Error> {
    check_size(source.stat.size, cap, asked)?;
    let shared = sys::clone_blocks(&source.file, file).is_ok();
    let mut reader = SourceReader { file: &source.file, offset: 0 };
    let (hash, size) = if shared {
        hash_stream(&mut reader).at("read source", asked)?
    } else {
        pour_stream(file, &mut reader, cap, asked)?
    };
    let now = sys::stat(&source.file).at("stat source", asked)?;
    if !now.unmoved(&source.stat) || size != now.size {
        return Err(ArgumentsError::SourceChanged {}.into());
    }
    if source.expected.is_some_and(|expected| expected != hash) {
        return Err(ArgumentsError::SourceMismatch { actual_hash: hash.to_string() }.into());
    }
    Ok((hash, size))
}

struct SourceReader<'a> {
    file: &'a OwnedFd,
    offset: u64,
}

impl std::io::Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = sys::read_at(self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

fn hash_stream(reader: &mut SourceReader<'_>) -> Result<(ContentHash, u64), Errno> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; STEP];
    loop {
        match reader.read(&mut buffer).map_err(|_| Errno::IO)? {
            0 => return Ok((hasher.finish(), reader.offset)),
            count => hasher.update(&buffer[..count]),
        }
    }
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
pub(super) fn link_unnamed(file: &OwnedFd, dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
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
pub(crate) fn link_form() -> &'static str {
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
