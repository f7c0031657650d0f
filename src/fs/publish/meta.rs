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
/// The set-user-id and set-group-id bits.
const SET_ID: u32 = 0o6000;
const NANOS_PER_MILLI: u32 = 1_000_000;

/// Gives a staged file owner, extended attributes and mode of the file it will replace.
///
/// Nothing here refuses a write: what could not be kept is answered as a warning. The order counts: a change of owner
/// clears the set-id bits, a mode without write permission refuses attributes, and the mode changes an ACL.
pub(super) fn copy(from: Option<&OwnedFd>, incumbent: &Stat, to: &OwnedFd, staged: &Stat) -> Vec<Warning> {
    let owner = copy_owner(incumbent, to, staged);
    let (acl, others) = from.map_or_else(Default::default, |from| attributes(from, to));
    let mut dropped = from.map_or_else(Vec::new, |from| copy_attributes(from, to, &others));
    // Set-id bits belong to the owner they were given under: another must not get them with the caller's bytes.
    let mode = if owner.is_some() { incumbent.mode & !SET_ID } else { incumbent.mode };
    if let Err(errno) = sys::set_mode(to, mode) {
        tracing::warn!(?errno, "the mode of a replaced file could not be kept");
    }
    dropped.extend(from.map_or_else(Vec::new, |from| copy_attributes(from, to, &acl)));
    let attributes = (!dropped.is_empty()).then_some(Warning::XattrsDropped(dropped));
    let links = (incumbent.nlink > 1).then(|| Warning::HardLinksBroken(incumbent.nlink - 1));
    [owner, attributes, links].into_iter().flatten().collect()
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

/// The attributes to copy: an ACL, and the others. A name that cannot be listed stands as `*` and fails to be copied.
fn attributes(from: &OwnedFd, to: &OwnedFd) -> (Vec<OsString>, Vec<OsString>) {
    let names = match sys::attribute_names(from) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Vec::new(),
        // A file system that says the same of a new file has no attributes: rclone answers `EIO`.
        Err(errno) if sys::attribute_names(to) == Err(errno) => Vec::new(),
        Err(_) => vec!["*".into()],
    };
    names.into_iter().filter(|name| is_copied(name)).partition(|name| name == ACCESS_ACL)
}

/// Copies attributes and answers the names of those that could not be.
fn copy_attributes(from: &OwnedFd, to: &OwnedFd, names: &[OsString]) -> Vec<String> {
    let failed = names.iter().filter(|name| copy_attribute(from, to, name).is_err());
    let told = failed.map(|name| name.to_string_lossy().into_owned());
    // The kernel of the server decides over these, and seldom in our favour.
    told.filter(|name| name != "system.nfs4_acl").collect()
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
