//! Files outside the vault whose bytes go into it.

use std::{io::Read, os::fd::OwnedFd, time::Duration};

use rustix::{
    fs::{FileType, OFlags, ResolveFlags},
    io::Errno,
};

use super::{
    Content, HostPath, errno_name,
    sys::{self, Stat},
};
use crate::{
    cancel::CancelFlag,
    error::{ArgumentsError, Error, PathError, ServingError, WriteError},
    text::{ContentHash, Hasher},
};

/// Milliseconds between the end of a piped input and belief in it.
const GRACE: u32 = 50;

/// Streams go through a buffer of this size.
const STEP: usize = 1024 * 1024;

/// An open regular file outside the vault.
#[derive(Debug)]
pub struct Source {
    pub(super) file: OwnedFd,
    stat: Stat,
    /// The hash its bytes must have, where one was given.
    expected: Option<ContentHash>,
}

impl Source {
    /// Opens a file in one of the folders that remote callers may take files from.
    ///
    /// No link on the way is followed, and nothing but a regular file is opened for reading.
    pub fn open(folders: &[HostPath], path: &str, expected: Option<ContentHash>) -> Result<Self, Error> {
        let forbidden = || Error::from(ArgumentsError::SourceForbidden {});
        let path = HostPath::parse(path).ok_or_else(forbidden)?;
        let folder = folders.iter().find(|folder| path.is_within(folder)).ok_or_else(forbidden)?;
        let below =
            path.below(folder).filter(|below| *below != "").ok_or(ArgumentsError::SourceNotAFile {})?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = sys::open_path(folder.as_path().as_os_str(), flags).map_err(problem)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = sys::open_beneath(folder, below.as_os_str(), flags, ResolveFlags::NO_SYMLINKS);
        Self::of(file.map_err(problem)?, expected)
    }

    /// Opens any file that the user of this process can read: a regular one as a source, a pipe or device as a
    /// stream that ends early, and with an error, when the call is cancelled.
    pub fn open_host(
        path: &HostPath,
        expected: Option<ContentHash>,
        cancel: &CancelFlag,
    ) -> Result<Content, Error> {
        let file = sys::open_path(path.as_path().as_os_str(), OFlags::RDONLY).map_err(problem)?;
        let kind = sys::stat(&file).map_err(problem)?.kind;
        if matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
            return Ok(Interruptible::content(file, expected, cancel));
        }
        Self::of(file, expected).map(Content::File)
    }

    /// Standard input, as a stream that ends early, and with an error, when the call is cancelled.
    pub fn stdin(expected: Option<ContentHash>, cancel: &CancelFlag) -> Result<Content, Error> {
        Ok(Interruptible::content(sys::standard_input().map_err(problem)?, expected, cancel))
    }

    fn of(file: OwnedFd, expected: Option<ContentHash>) -> Result<Self, Error> {
        let stat = sys::stat(&file).map_err(problem)?;
        if stat.kind != FileType::RegularFile {
            return Err(ArgumentsError::SourceNotAFile {}.into());
        }
        Ok(Self { file, stat, expected })
    }

    /// The size when it was opened.
    pub const fn size(&self) -> u64 {
        self.stat.size
    }

    /// The hash of its bytes; refused as by a copy.
    pub fn hash(&self, cap: u64, asked: &str) -> Result<ContentHash, Error> {
        self.hash_through(cap, asked, |_| Ok(())).map(|(hash, _)| hash)
    }

    /// Hands all bytes to `each` and answers their hash and size.
    ///
    /// `source_changed` when the file moved meanwhile, `source_mismatch` when it is not what was expected.
    pub(super) fn hash_through(
        &self,
        cap: u64,
        asked: &str,
        each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(ContentHash, u64), Error> {
        PathError::refuse_over_write_cap(asked, self.stat.size, cap)?;
        let mut reader = Reader { file: &self.file, offset: 0 };
        let (hash, size) = pour_through(&mut reader, cap, asked, each)?;
        self.check(hash, size)?;
        Ok((hash, size))
    }

    /// The bytes that were copied are those of the file as it was opened and still is, and those that were expected.
    pub(super) fn check(&self, hash: ContentHash, size: u64) -> Result<(), Error> {
        let now = sys::stat(&self.file).map_err(problem)?;
        if !now.unmoved(&self.stat) || size != now.size {
            return Err(ArgumentsError::SourceChanged {}.into());
        }
        check_source(self.expected, hash)
    }
}

/// Refuses bytes that are not those that were to be sent.
pub(super) fn check_source(expected: Option<ContentHash>, found: ContentHash) -> Result<(), Error> {
    if expected.is_some_and(|expected| expected != found) {
        return Err(ArgumentsError::SourceMismatch { actual_hash: found.to_string() }.into());
    }
    Ok(())
}

fn problem(errno: Errno) -> Error {
    match errno {
        Errno::NOENT | Errno::NOTDIR => ArgumentsError::SourceMissing {}.into(),
        Errno::LOOP | Errno::XDEV | Errno::ACCESS | Errno::PERM => ArgumentsError::SourceForbidden {}.into(),
        Errno::NXIO | Errno::ISDIR => ArgumentsError::SourceNotAFile {}.into(),
        errno => {
            let path = "source_path".to_owned();
            WriteError::IoError { path, step: READ_SOURCE, errno: errno_name(errno) }.into()
        }
    }
}

const READ_SOURCE: &str = "read source";

/// How long a stream without bytes is waited for before the flag is looked at again, in milliseconds.
const LOOK_AT_FLAG: i64 = 50;

/// A stream that gives up when its call is cancelled. Its end counts only while the call is wanted: who cancels a
/// pipeline ends its first program too, and half a file would pass for the whole.
pub(super) struct Interruptible {
    file: OwnedFd,
    /// The stream ends when the program that fills it does, and not where a file ends.
    has_writer: bool,
    cancel: CancelFlag,
}

impl Interruptible {
    pub(super) fn of(file: OwnedFd, cancel: &CancelFlag) -> Self {
        let has_writer = sys::stat(&file).is_ok_and(|stat| stat.kind != FileType::RegularFile);
        Self { file, has_writer, cancel: cancel.clone() }
    }

    fn content(file: OwnedFd, expected: Option<ContentHash>, cancel: &CancelFlag) -> Content {
        Content::Stream(Box::new(Self::of(file, cancel)), expected)
    }

    /// An interrupt goes to all programs of a pipeline at once, and the end of the first one's output may be seen
    /// here before the signal is: the end is believed only when the flag is still not set after [`GRACE`].
    fn wait_for_flag(&self) {
        for _ in 0..GRACE {
            if self.cancel.is_cancelled() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn refuse_cancelled(&self) -> std::io::Result<()> {
        if self.cancel.is_cancelled() { Err(Errno::CANCELED.into()) } else { Ok(()) }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while !sys::is_readable(&self.file, LOOK_AT_FLAG)? {
            self.refuse_cancelled()?;
        }
        let count = sys::read(&self.file, buffer)?;
        if count == 0 && self.has_writer {
            self.wait_for_flag();
        }
        self.refuse_cancelled()?;
        Ok(count)
    }
}

struct Reader<'a> {
    file: &'a OwnedFd,
    offset: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = sys::read_at(self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Hands all bytes of a stream to `each` in steps, and answers their hash and size; `too_large` over the cap.
pub(super) fn pour_through(
    stream: &mut dyn Read,
    cap: u64,
    asked: &str,
    mut each: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(ContentHash, u64), Error> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; STEP];
    let mut size = 0;
    loop {
        let count = fill(stream, &mut buffer).map_err(|error| unread(&error, asked))?;
        size += count as u64;
        PathError::refuse_over_write_cap(asked, size, cap)?;
        hasher.update(&buffer[..count]);
        each(&buffer[..count])?;
        if count < buffer.len() {
            return Ok((hasher.finish(), size));
        }
    }
}

fn unread(error: &std::io::Error, asked: &str) -> Error {
    match error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error) {
        Errno::CANCELED => ServingError::Cancelled {}.into(),
        errno => {
            let path = asked.to_owned();
            WriteError::IoError { path, step: READ_SOURCE, errno: errno_name(errno) }.into()
        }
    }
}

/// Reads until the buffer is full or the stream ends.
fn fill(stream: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Vec<HostPath>) {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("out")).unwrap();
        std::fs::write(scratch.path().join("out/a.pdf"), "hello\n").unwrap();
        std::fs::write(scratch.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", scratch.path().join("out/link")).unwrap();
        let out = HostPath::parse(scratch.path().join("out")).unwrap();
        (scratch, vec![out])
    }

    fn open(folders: &[HostPath], name: &str, hash: Option<ContentHash>) -> Result<Source, Error> {
        Source::open(folders, folders[0].join(name).as_path().to_str().unwrap(), hash)
    }

    #[test]
    fn only_regular_files_below_an_open_folder_are_sources() {
        let (_scratch, folders) = folder();
        assert_eq!(open(&folders, "a.pdf", None).unwrap().size(), 6);
        for (name, reason) in [
            ("../secret", "source_forbidden"),
            ("link", "source_forbidden"),
            ("none", "source_missing"),
            ("", "source_not_a_file"),
        ] {
            assert_eq!(open(&folders, name, None).unwrap_err().name(), reason, "{name}");
        }
        assert_eq!(Source::open(&folders, "a.pdf", None).unwrap_err().name(), "source_forbidden");
        assert_eq!(Source::open(&[], "/etc/passwd", None).unwrap_err().name(), "source_forbidden");
    }

    #[test]
    fn another_hash_or_a_change_on_the_way_is_found() {
        let (_scratch, folders) = folder();
        let other = open(&folders, "a.pdf", Some(ContentHash::of(b"x"))).unwrap();
        let failed = other.hash_through(99, "a", |_| Ok(())).unwrap_err();
        assert_eq!(failed.report()["data"]["actualHash"], ContentHash::of(b"hello\n").to_string());
        let source = open(&folders, "a.pdf", Some(ContentHash::of(b"hello\n"))).unwrap();
        assert_eq!(source.hash_through(99, "a", |_| Ok(())).unwrap().1, 6);
        std::fs::write(folders[0].join("a.pdf").as_path(), "longer now").unwrap();
        assert_eq!(source.hash_through(99, "a", |_| Ok(())).unwrap_err().name(), "source_changed");
    }

    #[test]
    fn a_stream_over_the_cap_is_refused_as_soon_as_it_is_seen() {
        let failed = pour_through(&mut std::io::repeat(1), 3_000_000, "a", |_| Ok(())).unwrap_err();
        assert_eq!(failed.name(), "too_large");
    }
}
