//! What a replaced file keeps beside its bytes: owner, mode, extended attributes, and a time that tells it apart.

use std::{
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
};

use rustix::io::Errno;

use super::{
    super::sys::{self, Stat},
    Warning,
};

/// Computed by the kernel, or bound to one inode: never copied.
const NEVER_COPIED: &[&str] = &["security.ima", "security.evm", "security.capability"];
const ACCESS_ACL: &str = "system.posix_acl_access";
const NANOS_PER_MILLI: u32 = 1_000_000;

/// Gives a staged file owner, mode and extended attributes of the file it will replace.
///
/// Nothing here refuses a write: what could not be kept is answered as a warning.
pub(super) fn copy(from: Option<&OwnedFd>, incumbent: &Stat, to: &OwnedFd, staged: &Stat) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(copy_owner(incumbent, to, staged));
    if let Err(errno) = sys::set_mode(to, incumbent.mode) {
        tracing::warn!(?errno, "the mode of a replaced file could not be kept");
    }
    warnings.extend(from.and_then(|from| copy_attributes(from, to)));
    if incumbent.nlink > 1 {
        warnings.push(Warning::HardLinksBroken(incumbent.nlink - 1));
    }
    warnings
}

/// Before the mode: a change of owner clears the set-id bits.
fn copy_owner(incumbent: &Stat, to: &OwnedFd, staged: &Stat) -> Option<Warning> {
    if (staged.uid, staged.gid) == (incumbent.uid, incumbent.gid) {
        return None;
    }
    if sys::set_owner(to, Some(incumbent.uid), Some(incumbent.gid)).is_ok() {
        return None;
    }
    if staged.gid != incumbent.gid
        && let Err(errno) = sys::set_owner(to, None, Some(incumbent.gid))
    {
        tracing::debug!(?errno, "the group of a replaced file could not be kept");
    }
    Some(Warning::OwnerChanged)
}

fn copy_attributes(from: &OwnedFd, to: &OwnedFd) -> Option<Warning> {
    let names = match sys::attribute_names(from) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return None,
        // A file system that says the same of a new file has no attributes: rclone answers `EIO`.
        Err(errno) if sys::attribute_names(to) == Err(errno) => return None,
        Err(_) => return Some(Warning::XattrsDropped(vec!["*".into()])),
    };
    let dropped: Vec<String> = names
        .iter()
        .filter(|name| is_copied(name))
        .filter(|name| copy_attribute(from, to, name).is_err())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != "system.nfs4_acl")
        .collect();
    (!dropped.is_empty()).then_some(Warning::XattrsDropped(dropped))
}

fn is_copied(name: &OsStr) -> bool {
    let known = NEVER_COPIED.iter().any(|never| name == OsStr::new(never));
    !known && !name.as_bytes().starts_with(b"btrfs.")
}

fn copy_attribute(from: &OwnedFd, to: &OwnedFd, name: &OsString) -> Result<(), Errno> {
    let value = sys::attribute(from, name)?;
    sys::set_attribute(to, name, &value)
}

/// Obsidian compares modification times in milliseconds, and sizes: a replacement of the same size within the same
/// millisecond would go unseen, so its time is set one later.
pub(super) fn tell_times_apart(incumbent: &Stat, to: &OwnedFd, staged: &Stat) -> Result<(), Errno> {
    if millis(staged.mtime) != millis(incumbent.mtime) {
        return Ok(());
    }
    sys::set_mtime(to, one_milli_later(staged.mtime))
}

const fn millis(time: sys::Time) -> (i64, u32) {
    (time.0, time.1 / NANOS_PER_MILLI)
}

const fn one_milli_later(time: sys::Time) -> sys::Time {
    let nanos = time.1 + NANOS_PER_MILLI;
    if nanos >= 1000 * NANOS_PER_MILLI {
        (time.0 + 1, nanos - 1000 * NANOS_PER_MILLI)
    } else {
        (time.0, nanos)
    }
}

/// An ACL that the staging folder handed down and the replaced file does not have.
pub(super) fn drop_inherited_acl(staged: &OwnedFd) {
    let inherited =
        sys::attribute_names(staged).is_ok_and(|names| names.iter().any(|name| name == ACCESS_ACL));
    if inherited && let Err(errno) = rustix::fs::fremovexattr(staged, ACCESS_ACL) {
        tracing::debug!(?errno, "an inherited ACL stays on a staged file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_time_carries_into_the_next_second() {
        assert_eq!(one_milli_later((5, 999_500_000)), (6, 500_000));
        assert_eq!(one_milli_later((5, 1)), (5, 1_000_001));
    }

    #[test]
    fn what_the_kernel_computes_is_not_copied() {
        assert!(is_copied(OsStr::new("user.tag")));
        assert!(is_copied(OsStr::new("system.posix_acl_access")));
        assert!(!is_copied(OsStr::new("security.ima")));
        assert!(!is_copied(OsStr::new("btrfs.compression")));
    }
}
