//! Files outside vaults: folders that may be vaults, and our own state.

use std::{
    ffi::OsStr,
    fmt, io,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Component, Path, PathBuf},
};

use rustix::fs::{CWD, FileType, OFlags};

use super::{
    source::Interruptible,
    sys::{self, Errno},
};
use crate::cancel::CancelFlag;

/// What an unprivileged program may make a pipe hold, as `pipe(7)` has it.
const PIPE_BYTES: usize = 1024 * 1024;

/// Lets a pipe on standard input hold more, since one line of it may be a whole file: fewer turns between its ends.
///
/// Where that is refused, or standard input is no pipe, everything works as it is.
pub fn widen_standard_input() {
    sys::standard_input().and_then(|stdin| sys::set_pipe_size(&stdin, PIPE_BYTES)).ok();
}

/// Standard input, which ends early, and with an error, when the call is cancelled.
pub fn standard_input(cancel: &CancelFlag) -> io::Result<impl io::Read + Send + 'static> {
    Ok(Interruptible::of(sys::standard_input()?, cancel))
}

/// An absolute path of the host, cleaned lexically: no `.`, no `..`, no doubled or trailing slash.
///
/// It is never part of a vault's own name space; see [`crate::path::VaultPath`] for that.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPath(PathBuf);

impl HostPath {
    /// Cleans an absolute path; none for a relative one.
    pub fn parse(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        if !path.is_absolute() {
            return None;
        }
        let mut clean = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::ParentDir => {
                    clean.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(Self(clean))
    }

    /// A path at which nothing can be made.
    pub fn nowhere() -> Self {
        Self(PathBuf::from("/proc/nowhere"))
    }

    /// The path as the standard library has it.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// A path below this one.
    #[must_use]
    pub fn join(&self, below: impl AsRef<Path>) -> Self {
        Self(self.0.join(below))
    }

    /// The folder that holds it; none for the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// The last name, lossily; empty for the root.
    pub fn name(&self) -> String {
        self.0.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// It is the other path or lies below it, by whole components.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The part below the other path; none when it does not lie within.
    pub fn below(&self, other: &Self) -> Option<&Path> {
        self.0.strip_prefix(&other.0).ok()
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.display(), f)
    }
}

impl fmt::Debug for HostPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What tells one folder from another while a handle on it is open: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// A folder of the host, open.
#[derive(Debug)]
pub struct OpenDir {
    /// The handle, `O_RDONLY|O_DIRECTORY`.
    pub(crate) handle: OwnedFd,
    /// Taken from the handle.
    pub identity: Identity,
    /// Where the kernel says the handle is.
    pub canonical: HostPath,
}

/// Why a folder of the host could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirProblem {
    /// There is nothing at the path.
    Missing,
    /// Something on the path, or its end, is not a folder.
    NotADirectory,
    /// It may not be read and searched, or the system failed.
    Unreadable,
}

impl OpenDir {
    /// Opens a folder and takes its identity from the handle.
    ///
    /// Reading and searching it must be permitted.
    pub fn open(path: &HostPath) -> Result<Self, DirProblem> {
        FoundDir::find(path)?.open()
    }
}

/// A folder of the host that was found; whether it may be read is not known yet.
#[derive(Debug)]
pub struct FoundDir {
    /// The handle, `O_PATH|O_DIRECTORY`.
    handle: OwnedFd,
    /// Taken from the handle.
    pub identity: Identity,
    /// Where the kernel says the handle is.
    pub canonical: HostPath,
}

impl FoundDir {
    /// Finds a folder, following links, and takes its identity from the handle.
    pub fn find(path: &HostPath) -> Result<Self, DirProblem> {
        let handle = sys::open_path(path.0.as_os_str(), OFlags::PATH | OFlags::DIRECTORY).map_err(problem)?;
        let stat = sys::stat(&handle).map_err(problem)?;
        let canonical =
            sys::name_of(&handle).ok().and_then(HostPath::parse_os).unwrap_or_else(|| path.clone());
        Ok(Self { handle, identity: Identity { dev: stat.dev, ino: stat.ino }, canonical })
    }

    /// Opens the very folder that was found. Reading and searching it must be permitted.
    pub fn open(self) -> Result<OpenDir, DirProblem> {
        let handle =
            sys::open(&self.handle, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY).map_err(problem)?;
        Ok(OpenDir { handle, identity: self.identity, canonical: self.canonical })
    }

    /// The folder holds a folder of that name, itself or through a link.
    pub fn holds_folder(&self, name: &str) -> bool {
        sys::open(&self.handle, OsStr::new(name), OFlags::PATH | OFlags::DIRECTORY).is_ok()
    }
}

impl HostPath {
    fn parse_os(path: std::ffi::OsString) -> Option<Self> {
        Self::parse(PathBuf::from(path))
    }
}

const fn problem(errno: Errno) -> DirProblem {
    match errno {
        Errno::NOENT => DirProblem::Missing,
        Errno::NOTDIR => DirProblem::NotADirectory,
        _ => DirProblem::Unreadable,
    }
}

/// What tells one version of a host file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: (i64, u32),
    ctime: (i64, u32),
}

impl FileStamp {
    /// Which file it is, whatever its version.
    pub const fn identity(&self) -> Identity {
        Identity { dev: self.dev, ino: self.ino }
    }
}

/// Why a host file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadProblem {
    /// There is nothing at the path.
    Missing,
    /// It is not a regular file.
    NotAFile,
    /// It is larger than the caller takes.
    TooLarge,
    /// The system refuses; the errno's name.
    Failed(String),
}

/// The stamp of a host file, following links.
pub fn stamp(path: &HostPath) -> Result<FileStamp, ReadProblem> {
    let file = sys::open_path(path.0.as_os_str(), OFlags::RDONLY | OFlags::NONBLOCK).map_err(read_problem)?;
    regular(&file).map(|stat| stamp_of(&stat))
}

/// A file of the host in the making: it appears at its path whole, when it is kept, or not at all.
#[derive(Debug)]
pub struct NewFile {
    staged: tempfile::NamedTempFile,
    path: HostPath,
    replace: bool,
}

impl NewFile {
    /// Begins a file; without `replace` a path that is taken is an error, now and at the end. A link or device is
    /// never replaced.
    pub fn begin(path: &HostPath, replace: bool) -> io::Result<Self> {
        match sys::stat_at(CWD, path.0.as_os_str()) {
            Ok(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            Ok(there) if there.kind != FileType::RegularFile => {
                return Err(io::Error::other(
                    "it is there and no regular file; write to standard output instead",
                ));
            }
            _ => {}
        }
        let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
        let mode = std::fs::Permissions::from_mode(0o666);
        let staged = tempfile::Builder::new().permissions(mode).tempfile_in(folder.as_path())?;
        Ok(Self { staged, path: path.clone(), replace })
    }

    /// Gives the file its name.
    pub fn keep(self) -> io::Result<()> {
        let kept = if self.replace {
            self.staged.persist(self.path.as_path())
        } else {
            self.staged.persist_noclobber(self.path.as_path())
        };
        kept.map(drop).map_err(|error| error.error)
    }
}

impl io::Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.staged.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.staged.flush()
    }
}

/// Reads a whole regular file of the host, of at most `cap` bytes, with its stamp.
pub fn read(path: &HostPath, cap: u64) -> Result<(Vec<u8>, FileStamp), ReadProblem> {
    let file = sys::open_path(path.0.as_os_str(), OFlags::RDONLY | OFlags::NONBLOCK).map_err(read_problem)?;
    let stat = regular(&file)?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = sys::read(&file, &mut buffer).map_err(read_problem)?;
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.len() as u64 > cap {
            return Err(ReadProblem::TooLarge);
        }
        if count == 0 {
            return Ok((bytes, stamp_of(&stat)));
        }
    }
}

fn regular(file: &OwnedFd) -> Result<sys::Stat, ReadProblem> {
    let stat = sys::stat(file).map_err(read_problem)?;
    if stat.kind == FileType::RegularFile { Ok(stat) } else { Err(ReadProblem::NotAFile) }
}

const fn stamp_of(stat: &sys::Stat) -> FileStamp {
    FileStamp { dev: stat.dev, ino: stat.ino, size: stat.size, mtime: stat.mtime, ctime: stat.ctime }
}

fn read_problem(errno: Errno) -> ReadProblem {
    match errno {
        Errno::NOENT | Errno::NOTDIR => ReadProblem::Missing,
        Errno::ISDIR => ReadProblem::NotAFile,
        other => ReadProblem::Failed(super::errno_name(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_path_is_cleaned_lexically() {
        for (given, clean) in [("/a//b/", "/a/b"), ("/a/./b/../c", "/a/c"), ("/..", "/"), ("/", "/")] {
            assert_eq!(HostPath::parse(given).unwrap().to_string(), clean);
        }
        assert_eq!(HostPath::parse("a/b"), None);
    }

    #[test]
    fn containment_is_by_whole_components() {
        let path = |text| HostPath::parse(text).unwrap();
        assert!(path("/a/b").is_within(&path("/a")));
        assert!(!path("/ab").is_within(&path("/a")));
    }

    #[test]
    fn a_link_and_its_folder_have_one_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let root = HostPath::parse(scratch.path()).unwrap();
        std::os::unix::fs::symlink(scratch.path(), scratch.path().join("link")).unwrap();
        let folder = OpenDir::open(&root).unwrap();
        let link = OpenDir::open(&root.join("link")).unwrap();
        assert_eq!(folder.identity, link.identity);
        assert_eq!(folder.canonical, link.canonical);
    }

    #[test]
    fn what_is_no_readable_folder_says_why() {
        let scratch = tempfile::tempdir().unwrap();
        let root = HostPath::parse(scratch.path()).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        assert_eq!(OpenDir::open(&root.join("none")).unwrap_err(), DirProblem::Missing);
        assert_eq!(OpenDir::open(&root.join("file")).unwrap_err(), DirProblem::NotADirectory);
    }

    #[test]
    fn a_found_folder_tells_which_folders_it_holds() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("inner")).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        let found = FoundDir::find(&HostPath::parse(scratch.path()).unwrap()).unwrap();
        assert!(found.holds_folder("inner"));
        assert!(!found.holds_folder("file"));
        let identity = found.identity;
        assert_eq!(found.open().unwrap().identity, identity);
    }

    #[test]
    fn a_read_is_bounded() {
        let scratch = tempfile::tempdir().unwrap();
        let file = HostPath::parse(scratch.path()).unwrap().join("file");
        std::fs::write(file.as_path(), "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap().0, b"12345");
        assert_eq!(read(&file, 4), Err(ReadProblem::TooLarge));
    }
}
