//! Linux, through rustix.

use std::{
    ffi::{CStr, OsStr, OsString},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
};

use rustix::fs::{
    self, AtFlags, CWD, FallocateFlags, FileType, FlockOperation, Gid, Mode, OFlags, RawDir, RenameFlags,
    ResolveFlags, StatVfsMountFlags, StatxFlags, Timespec, Timestamps, Uid, XattrFlags,
};

use rustix::event::{PollFd, PollFlags, poll};

use super::{Errno, Step, pass, retry};

/// What `statx` says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub dev: u64,
    pub ino: u64,
    pub mount: u64,
    pub nlink: u32,
    pub kind: FileType,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub mtime: Time,
    pub ctime: Time,
}

/// Seconds and nanoseconds since the epoch.
pub(crate) type Time = (i64, u32);

impl Stat {
    /// The same file, while a handle on one of the two is open.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// Size and both times are what they were.
    pub(crate) fn unmoved(&self, other: &Self) -> bool {
        self.is(other) && self.size == other.size && self.mtime == other.mtime && self.ctime == other.ctime
    }
}

const STAT: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

fn stat_with(dir: impl AsFd, name: &OsStr, flags: AtFlags) -> Result<Stat, Errno> {
    pass(Step::Stat)?;
    let found = retry(|| fs::statx(&dir, name, flags, STAT))?;
    Ok(Stat {
        dev: fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        ino: found.stx_ino,
        mount: found.stx_mnt_id,
        nlink: found.stx_nlink,
        kind: FileType::from_raw_mode(u32::from(found.stx_mode)),
        mode: u32::from(found.stx_mode) & 0o7777,
        uid: found.stx_uid,
        gid: found.stx_gid,
        size: found.stx_size,
        mtime: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
        ctime: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
    })
}

/// `statx` of an open file.
pub(crate) fn stat(file: impl AsFd) -> Result<Stat, Errno> {
    stat_with(file, OsStr::new(""), AtFlags::EMPTY_PATH)
}

/// `statx` of a name, not following it.
pub(crate) fn stat_at(dir: impl AsFd, name: &OsStr) -> Result<Stat, Errno> {
    stat_with(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// What `fstatvfs` says of the file system of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub read_only: bool,
    pub free_bytes: u64,
}

/// `fstatvfs`.
pub(crate) fn space(file: impl AsFd) -> Result<Space, Errno> {
    pass(Step::Stat)?;
    let found = retry(|| fs::fstatvfs(&file))?;
    Ok(Space {
        read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
    })
}

/// `openat2` beneath a folder, never through a magic link.
pub(crate) fn open_beneath(
    dir: impl AsFd,
    path: &OsStr,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    pass(Step::Resolve)?;
    let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match fs::openat2(&dir, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tries < 16 => tries += 1,
            other => return other,
        }
    }
}

/// `openat` of one name or of a host path.
pub(crate) fn open(dir: impl AsFd, path: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    pass(Step::Open)?;
    retry(|| fs::openat(&dir, path, flags | OFlags::CLOEXEC, Mode::empty()))
}

/// `open` of a host path.
pub(crate) fn open_path(path: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    open(CWD, path, flags)
}

/// Another description of an open file, read-only.
pub(crate) fn reopen_read_only(file: impl AsFd) -> Result<OwnedFd, Errno> {
    open_path(OsStr::new(&proc_path(file)), OFlags::RDONLY | OFlags::NONBLOCK)
}

fn proc_path(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

/// The kernel's own name of an open file, absolute; ends with ` (deleted)` when it has none any more.
pub(crate) fn name_of(file: impl AsFd) -> Result<OsString, Errno> {
    pass(Step::ReadLink)?;
    let link = fs::readlinkat(CWD, proc_path(file), Vec::new())?;
    Ok(OsString::from_vec(link.into_bytes()))
}

/// `readlinkat`; with an empty name, of a link opened with `O_PATH`.
pub(crate) fn read_link(dir: impl AsFd, name: &OsStr) -> Result<OsString, Errno> {
    pass(Step::ReadLink)?;
    let link = retry(|| fs::readlinkat(&dir, name, Vec::new()))?;
    Ok(OsString::from_vec(link.into_bytes()))
}

/// An unnamed file in a folder, readable and writable, with the mode of any new file.
pub(crate) fn stage_unnamed(dir: impl AsFd) -> Result<OwnedFd, Errno> {
    pass(Step::StageUnnamed)?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    retry(|| fs::openat(&dir, ".", flags, Mode::from_raw_mode(0o666)))
}

/// A new file under a name that must be free.
pub(crate) fn create_exclusive(
    dir: impl AsFd,
    name: &OsStr,
    mode: u32,
    step: Step,
) -> Result<OwnedFd, Errno> {
    pass(step)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    retry(|| fs::openat(&dir, name, flags, Mode::from_raw_mode(mode)))
}

/// `read`.
pub(crate) fn read(file: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    pass(Step::Read)?;
    retry(|| rustix::io::read(&file, &mut *buffer))
}

/// `poll`: the file has bytes, or its end, to read; waits that many milliseconds for it.
pub(crate) fn is_readable(file: impl AsFd, millis: i64) -> Result<bool, Errno> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: millis * 1_000_000 };
    let mut wanted = [PollFd::new(&file, PollFlags::IN)];
    retry(|| poll(&mut wanted, Some(&timeout))).map(|ready| ready > 0)
}

/// `dup` of standard input.
pub(crate) fn standard_input() -> Result<OwnedFd, Errno> {
    rustix::io::dup(rustix::stdio::stdin())
}

/// `F_SETPIPE_SZ`: how much a pipe may hold.
pub(crate) fn set_pipe_size(pipe: impl AsFd, bytes: usize) -> Result<(), Errno> {
    rustix::pipe::fcntl_setpipe_size(pipe, bytes).map(drop)
}

/// `pread`.
pub(crate) fn read_at(file: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    pass(Step::Read)?;
    retry(|| rustix::io::pread(&file, &mut *buffer, offset))
}

/// `write`, once: a short write before `ENOSPC` is normal.
pub(crate) fn write(file: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    pass(Step::Write)?;
    retry(|| rustix::io::write(&file, bytes))
}

/// `fallocate` of the first bytes.
pub(crate) fn allocate(file: impl AsFd, size: u64) -> Result<(), Errno> {
    pass(Step::Allocate)?;
    retry(|| fs::fallocate(&file, FallocateFlags::empty(), 0, size))
}

/// `fdatasync`.
pub(crate) fn sync_file(file: impl AsFd) -> Result<(), Errno> {
    pass(Step::SyncFile)?;
    retry(|| fs::fdatasync(&file))
}

/// `fsync` of a folder.
pub(crate) fn sync_folder(dir: impl AsFd) -> Result<(), Errno> {
    pass(Step::SyncFolder)?;
    retry(|| fs::fsync(&dir))
}

/// `syncfs`.
pub(crate) fn sync_all(file: impl AsFd) -> Result<(), Errno> {
    pass(Step::SyncAll)?;
    retry(|| fs::syncfs(&file))
}

/// How an unnamed file is given a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkForm {
    /// `linkat(fd, "", …, AT_EMPTY_PATH)`: needs Linux 6.10 or a capability.
    EmptyPath,
    /// `linkat("/proc/self/fd/N", …, AT_SYMLINK_FOLLOW)`: needs `/proc`.
    ProcSelfFd,
}

/// Gives an unnamed file a name that must be free.
pub(crate) fn link_unnamed(
    file: impl AsFd,
    form: LinkForm,
    dir: impl AsFd,
    name: &OsStr,
) -> Result<(), Errno> {
    pass(Step::LinkUnnamed)?;
    retry(|| match form {
        LinkForm::EmptyPath => fs::linkat(&file, "", &dir, name, AtFlags::EMPTY_PATH),
        LinkForm::ProcSelfFd => fs::linkat(CWD, proc_path(&file), &dir, name, AtFlags::SYMLINK_FOLLOW),
    })
}

/// A second name for a named file, which must be free.
pub(crate) fn link(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), Errno> {
    pass(Step::LinkName)?;
    retry(|| fs::linkat(&from, name, &to, new, AtFlags::empty()))
}

/// `renameat2(RENAME_NOREPLACE)`.
pub(crate) fn rename_new(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), Errno> {
    pass(Step::RenameNew)?;
    retry(|| fs::renameat_with(&from, name, &to, new, RenameFlags::NOREPLACE))
}

/// `renameat2(RENAME_EXCHANGE)`.
pub(crate) fn exchange(from: impl AsFd, name: &OsStr, to: impl AsFd, other: &OsStr) -> Result<(), Errno> {
    pass(Step::Exchange)?;
    retry(|| fs::renameat_with(&from, name, &to, other, RenameFlags::EXCHANGE))
}

/// `renameat`.
pub(crate) fn rename_over(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr) -> Result<(), Errno> {
    pass(Step::RenameOver)?;
    retry(|| fs::renameat(&from, name, &to, new))
}

/// `unlinkat` of a file.
pub(crate) fn unlink(dir: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    pass(Step::Unlink)?;
    retry(|| fs::unlinkat(&dir, name, AtFlags::empty()))
}

/// `unlinkat` of an empty folder.
pub(crate) fn remove_folder(dir: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    pass(Step::RemoveFolder)?;
    retry(|| fs::unlinkat(&dir, name, AtFlags::REMOVEDIR))
}

/// `mkdirat`; the umask applies.
pub(crate) fn make_folder(dir: impl AsFd, name: &OsStr, mode: u32) -> Result<(), Errno> {
    pass(Step::MakeFolder)?;
    retry(|| fs::mkdirat(&dir, name, Mode::from_raw_mode(mode)))
}

/// `flock(LOCK_EX|LOCK_NB)`.
pub(crate) fn try_lock(file: impl AsFd) -> Result<(), Errno> {
    pass(Step::Lock)?;
    retry(|| fs::flock(&file, FlockOperation::NonBlockingLockExclusive))
}

/// `flock(LOCK_UN)`.
pub(crate) fn unlock(file: impl AsFd) -> Result<(), Errno> {
    retry(|| fs::flock(&file, FlockOperation::Unlock))
}

/// `fchown`; what is absent stays.
pub(crate) fn set_owner(file: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
    pass(Step::Owner)?;
    retry(|| fs::fchown(&file, uid.map(Uid::from_raw), gid.map(Gid::from_raw)))
}

/// `fchmod`.
pub(crate) fn set_mode(file: impl AsFd, mode: u32) -> Result<(), Errno> {
    pass(Step::Mode)?;
    retry(|| fs::fchmod(&file, Mode::from_raw_mode(mode)))
}

/// Sets the modification time; the access time stays.
pub(crate) fn set_mtime(file: impl AsFd, time: Time) -> Result<(), Errno> {
    pass(Step::Times)?;
    let omit = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
    let mtime = Timespec { tv_sec: time.0, tv_nsec: time.1.into() };
    retry(|| fs::futimens(&file, &Timestamps { last_access: omit, last_modification: mtime }))
}

/// The names of a file's extended attributes.
pub(crate) fn attribute_names(file: impl AsFd) -> Result<Vec<OsString>, Errno> {
    pass(Step::Attribute)?;
    let mut buffer = vec![0_u8; 1024];
    loop {
        match fs::flistxattr(&file, buffer.as_mut_slice()) {
            Ok(length) => return Ok(split_names(&buffer[..length])),
            Err(Errno::RANGE) if buffer.len() < 64 * 1024 => buffer.resize(buffer.len() * 8, 0),
            Err(errno) => return Err(errno),
        }
    }
}

fn split_names(list: &[u8]) -> Vec<OsString> {
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}

/// One extended attribute.
pub(crate) fn attribute(file: impl AsFd, name: &OsStr) -> Result<Vec<u8>, Errno> {
    pass(Step::Attribute)?;
    let mut value = vec![0_u8; 64 * 1024];
    let length = fs::fgetxattr(&file, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}

/// Sets one extended attribute.
pub(crate) fn set_attribute(file: impl AsFd, name: &OsStr, value: &[u8]) -> Result<(), Errno> {
    pass(Step::Attribute)?;
    fs::fsetxattr(&file, name, value, XattrFlags::empty())
}

/// Calls back with each name in a folder, `.` and `..` left out; read from the start of the handle's own position.
///
/// The handle must be fresh: reading moves its position.
pub(crate) fn for_each_name(dir: impl AsFd, mut each: impl FnMut(&CStr, FileType)) -> Result<(), Errno> {
    pass(Step::List)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(64 * 1024);
    let mut entries = RawDir::new(dir, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            each(name, entry.file_type());
        }
    }
    Ok(())
}

/// A reflink of a whole file: `ioctl(FICLONE)`.
pub(crate) fn clone_blocks(from: impl AsFd, to: impl AsFd) -> Result<(), Errno> {
    fs::ioctl_ficlone(to, from)
}

/// Turns a name read from a folder into an `OsStr`.
pub(crate) fn os_name(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}
