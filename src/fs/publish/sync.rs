//! What a power cut may cost, and how sure a publication is.

use std::os::fd::OwnedFd;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::{
        Root,
        caps::{MountFacts, Persistence},
        sys,
    },
    target::Target,
};

/// How sure it is that no other writer's bytes were replaced unseen; better ones come later in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// There is an instant in which another writer's bytes can be lost.
    BestEffort,
    /// Other writers are found out, but for a window stated in the README.
    Detecting,
    /// As if all writers on this machine took turns.
    Linearizable,
}

/// Why it is not known that a write survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurableReason {
    /// `VAULT_DURABILITY=none`.
    Level,
    /// The file system lives in memory.
    VolatileFilesystem,
    /// The file system is none whose promises are known.
    FilesystemUnknown,
    /// A flush failed after the file was published.
    SyncFailed,
}

impl DurableReason {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::VolatileFilesystem => "volatile_filesystem",
            Self::FilesystemUnknown => "filesystem_unknown",
            Self::SyncFailed => "sync_failed",
        }
    }
}

/// Makes a published file last as the level says; the folders are flushed by `sync_folder`.
///
/// After the commit: a failure is an answer, never an error. On btrfs the file is flushed once more: older kernels
/// skipped the flush of a file that had no name yet.
pub(super) fn last(
    root: &Root,
    target: &Target<'_>,
    file: &OwnedFd,
    sync_folder: impl FnMut(&OwnedFd) -> Result<(), DurableReason>,
) -> Result<(), DurableReason> {
    if !root.config.durable {
        return Err(DurableReason::Level);
    }
    if target.mount.facts.fs_type == "btrfs"
        && let Err(errno) = sys::sync_file(file)
    {
        tracing::warn!(?errno, "the second flush of a published file failed");
        return Err(DurableReason::SyncFailed);
    }
    target.folders_to_sync().try_for_each(sync_folder)?;
    lasts(&target.mount.facts)
}

/// The same for a file by itself.
pub(super) fn after_publishing(
    root: &Root,
    target: &Target<'_>,
    file: &OwnedFd,
) -> Result<(), DurableReason> {
    last(root, target, file, sync_folder)
}

/// Flushes one folder.
pub(super) fn sync_folder(folder: &OwnedFd) -> Result<(), DurableReason> {
    sys::sync_folder(folder).map_err(|errno| {
        tracing::warn!(?errno, "a folder could not be flushed after a file was published in it");
        DurableReason::SyncFailed
    })
}

/// What was flushed on that mount survives a power cut, or why that is not known.
pub(in crate::fs) fn lasts(mount: &MountFacts) -> Result<(), DurableReason> {
    match mount.persistence() {
        Persistence::Durable => Ok(()),
        Persistence::Volatile => Err(DurableReason::VolatileFilesystem),
        Persistence::Unknown => Err(DurableReason::FilesystemUnknown),
    }
}

/// What a tier promises, less what the mount of a file can keep.
pub(super) fn guarantee(tier: Guarantee, target: &Target<'_>) -> Guarantee {
    kept(tier, &target.mount.facts)
}

/// What a tier promises, less what a mount that other hosts share can keep.
pub(in crate::fs) fn kept(tier: Guarantee, mount: &MountFacts) -> Guarantee {
    if mount.is_remote() { tier.min(Guarantee::Detecting) } else { tier }
}
