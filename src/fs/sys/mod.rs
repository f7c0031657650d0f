//! The kernel, one function per call.
//!
//! Each function names its [`Step`] first, so that under the feature `fault-points` a test can make exactly that call
//! fail, wait or be preceded by another program's act. The product is built without the feature.

#[cfg(feature = "fault-points")]
pub mod fault;
pub(crate) mod lease;
mod linux;

#[cfg(feature = "fault-points")]
use fault::pass;

pub(crate) use linux::*;
pub(crate) use rustix::io::Errno;

/// A kernel call of the write path, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// `openat2`: a folder or file beneath the vault.
    Resolve,
    /// `openat`: one name, not following it.
    Open,
    /// `openat(O_TMPFILE)`.
    StageUnnamed,
    /// `openat(O_CREAT|O_EXCL)` in the staging folder.
    StageNamed,
    /// `openat(O_CREAT|O_EXCL)` at the final name, where nothing better works.
    Placeholder,
    /// `statx`.
    Stat,
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// `fallocate`.
    Allocate,
    /// `fdatasync`, `fsync` of a file.
    SyncFile,
    /// `fsync` of a folder.
    SyncFolder,
    /// `syncfs`.
    SyncAll,
    /// `linkat` of an unnamed file.
    LinkUnnamed,
    /// `linkat` of a name.
    LinkName,
    /// `renameat2(RENAME_NOREPLACE)`.
    RenameNew,
    /// `renameat2(RENAME_EXCHANGE)`.
    Exchange,
    /// `renameat`.
    RenameOver,
    /// `unlinkat`.
    Unlink,
    /// `unlinkat(AT_REMOVEDIR)`.
    RemoveFolder,
    /// `mkdirat`.
    MakeFolder,
    /// `flock`.
    Lock,
    /// `fcntl(F_SETLEASE)`.
    Lease,
    /// `fchown`.
    Owner,
    /// `fchmod`.
    Mode,
    /// `fsetxattr` and its kin.
    Attribute,
    /// `utimensat`.
    Times,
    /// `getdents64`.
    List,
    /// `readlinkat`.
    ReadLink,
}

/// There are no test hooks in the product.
#[cfg(not(feature = "fault-points"))]
#[expect(clippy::unnecessary_wraps, reason = "with the hooks a step can fail")]
const fn pass(_step: Step) -> Result<(), Errno> {
    Ok(())
}

/// Repeats a call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
