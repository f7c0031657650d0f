//! File leases, for which rustix has no call: the kernel tells us whether anybody writes to a file.
//!
//! fcntl(2), "File leases": a read lease is refused while the file is open for writing, and an opener for writing is
//! held back until the lease is released. The default signal at a break, SIGIO, ends a process; SIGURG is ignored.
#![expect(unsafe_code, reason = "fcntl with F_SETLEASE, F_GETLEASE and F_SETSIG has no safe wrapper")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::{Step, pass};

/// `F_SETSIG` of `<fcntl.h>`, which libc does not define for gnu targets.
const F_SETSIG: libc::c_int = 10;

/// A mount that has no leases; other errors are about the one file.
pub(crate) const NO_LEASE: &[Errno] = &[Errno::INVAL];

/// A read lease, released on drop.
#[derive(Debug)]
pub(crate) struct Lease<'fd>(BorrowedFd<'fd>);

impl<'fd> Lease<'fd> {
    /// Takes a read lease.
    ///
    /// `EAGAIN`: somebody has the file open for writing. `EACCES`: it is not ours. `EINVAL`: the file system has none.
    pub(crate) fn take(file: &'fd impl AsFd) -> Result<Self, Errno> {
        pass(Step::Lease)?;
        let fd = file.as_fd();
        control(fd, F_SETSIG, libc::SIGURG)?;
        control(fd, libc::F_SETLEASE, libc::F_RDLCK)?;
        Ok(Self(fd))
    }

    /// Nobody has tried to open the file for writing since the lease was taken.
    pub(crate) fn is_whole(&self) -> bool {
        control(self.0, libc::F_GETLEASE, 0) == Ok(libc::F_RDLCK)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Err(errno) = control(self.0, libc::F_SETLEASE, libc::F_UNLCK) {
            tracing::debug!(?errno, "a lease was already gone");
        }
    }
}

fn control(fd: BorrowedFd<'_>, command: libc::c_int, argument: libc::c_int) -> Result<libc::c_int, Errno> {
    // SAFETY: the descriptor is borrowed and open, and all three commands take an int and touch no memory of ours.
    let answer = unsafe { libc::fcntl(fd.as_raw_fd(), command, argument) };
    if answer >= 0 {
        return Ok(answer);
    }
    Err(std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}
