//! From the kernel's answers to the reasons a caller reads.

use rustix::io::Errno;

use super::errno_name;
use crate::error::{Error, PathError, PathProblem, WriteError};

/// Adds to a kernel error what was being done and to which path.
pub(crate) trait IoContext<T> {
    /// `step` names the act, `path` the file as the caller spelled it.
    fn at(self, step: &'static str, path: &str) -> Result<T, Error>;
}

impl<T> IoContext<T> for Result<T, Errno> {
    fn at(self, step: &'static str, path: &str) -> Result<T, Error> {
        self.map_err(|errno| failure(errno, step, path))
    }
}

/// The reason for an errno that the act itself gives no other meaning.
pub(crate) fn failure(errno: Errno, step: &'static str, path: &str) -> Error {
    let path = path.to_owned();
    match errno {
        Errno::NOSPC | Errno::DQUOT => WriteError::NoSpace { path }.into(),
        Errno::ROFS => WriteError::ReadOnlyFilesystem { path }.into(),
        Errno::ACCESS | Errno::PERM => WriteError::PermissionDenied { path }.into(),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => WriteError::ResourceExhausted { path }.into(),
        Errno::XDEV | Errno::BUSY => WriteError::MountBoundary { path }.into(),
        Errno::ISDIR => PathError::PathIsDirectory { path }.into(),
        Errno::NAMETOOLONG => PathError::PathInvalid { path, problem: PathProblem::ComponentTooLong }.into(),
        _ => WriteError::IoError { path, step, errno: errno_name(errno) }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errno_has_its_reason() {
        for (errno, reason) in [
            (Errno::NOSPC, "no_space"),
            (Errno::DQUOT, "no_space"),
            (Errno::ROFS, "read_only_filesystem"),
            (Errno::ACCESS, "permission_denied"),
            (Errno::MFILE, "resource_exhausted"),
            (Errno::XDEV, "mount_boundary"),
            (Errno::NAMETOOLONG, "path_invalid"),
            (Errno::ISDIR, "path_is_directory"),
            (Errno::IO, "io_error"),
            (Errno::STALE, "io_error"),
        ] {
            assert_eq!(failure(errno, "write", "a.md").name(), reason, "{errno:?}");
        }
    }

    #[test]
    fn an_errno_is_told_by_its_name() {
        assert_eq!(failure(Errno::IO, "write", "a.md").report()["data"]["errno"], "EIO");
        assert_eq!(failure(Errno::NOTBLK, "write", "a.md").report()["data"]["errno"], "errno 15");
    }
}
