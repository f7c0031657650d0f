//! Replacing a file, bound to what is displaced.
//!
//! The new bytes and the old ones swap names in one step; what came out is then proved to be what was expected, and
//! otherwise swapped back. A read lease on the old file tells of writers that have it open.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::{fs::OFlags, io::Errno};

use super::{
    super::{
        Place, Root,
        context::{IoContext, failure},
        sys::{self, Stat},
    },
    Content, DurableReason, Warning, Written,
    area::Area,
    meta,
    stage::{self, Staged},
    stale,
    swap::Swap,
    sync,
    target::Target,
};
use crate::{
    error::{Error, PathError, WriteError},
    text::ContentHash,
};

/// What the displaced file must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// These bytes.
    Hash(ContentHash),
    /// Any file.
    None,
}

/// The file that is to be displaced, open, as it was first seen.
#[derive(Debug)]
pub(super) struct Old {
    /// None where it may not be read.
    pub(super) file: Option<OwnedFd>,
    pub(super) stat: Stat,
    /// None over the cap, or where it may not be read.
    pub(super) hash: Option<ContentHash>,
    /// What was hashed, of a small file: to compare bytes costs less than to hash them again, and proves as much.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Files up to this size stay in memory while they are replaced.
const SMALL: u64 = 64 * 1024;

/// Replaces the file at a place.
pub(super) fn replace(
    root: &Root,
    place: &Place,
    content: &mut Content,
    guard: Guard,
) -> Result<Written, Error> {
    let target = Target::open(root, place)?;
    let _name = target.lock_name(root.config.lock_timeout)?;
    replace_named(root, &target, content, guard, false)
}

/// The same for a caller that holds the lock of the name, and with `locked` the folder's flock too.
pub(super) fn replace_named(
    root: &Root,
    target: &Target<'_>,
    content: &mut Content,
    guard: Guard,
    locked: bool,
) -> Result<Written, Error> {
    let old = open_old(root, target.place, guard)?;
    let replacing = Replacing { root, target, guard, locked, old };
    let area = root.area(target)?;
    match replacing.through(&area, content) {
        // A quota project or an encrypted folder takes no name from outside itself, though the mount is one.
        Err(Error::Write(WriteError::MountBoundary { .. }))
            if area.is_at_root() && content.can_be_read_again() =>
        {
            replacing.through(&root.area_beside(target)?, content)
        }
        other => other,
    }
}

/// A replacement whose old file is known.
struct Replacing<'call> {
    root: &'call Root,
    target: &'call Target<'call>,
    guard: Guard,
    locked: bool,
    old: Old,
}

impl Replacing<'_> {
    /// Stages in that folder, then swaps the names.
    fn through(&self, area: &Arc<Area>, content: &mut Content) -> Result<Written, Error> {
        let Self { root, target, guard, locked, old } = self;
        let (mut staged, mut warnings) = stage_like(root, target, area, old, content)?;
        // The bytes of a stream are known only now.
        if old.hash == Some(staged.hash) {
            return Ok(Written::unchanged(target.path(), staged.hash, staged.size));
        }
        let mut slot = staged.slot.take().ok_or_else(|| failure(Errno::IO, "stage", target.asked()))?;
        let swap = Swap { root, target, old, staged: &staged, guard: *guard };
        let (displaced, guarantee) = {
            let _folder = if *locked { None } else { Some(target.lock_folder(root.config.lock_timeout)?) };
            swap.publish(&mut slot)?
        };
        let durable = sync::after_publishing(root, target, &staged.file);
        announce(target, &staged);
        if durable == Err(DurableReason::SyncFailed) {
            warnings.push(Warning::NotDurable);
        }
        Ok(Written {
            path: target.path().clone(),
            hash: staged.hash,
            size: staged.size,
            changed: true,
            previous: Some(displaced),
            durable: Some(durable),
            guarantee: sync::guarantee(guarantee, target),
            warnings,
            created_folders: Vec::new(),
        })
    }
}

/// An exchange reads as a deletion to those who believe events; one more event on the name makes them look again.
///
/// Through a handle opened by the name: that of a file that was staged unnamed tells its staging folder instead.
fn announce(target: &Target<'_>, staged: &Staged) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let announced = sys::open(target.dir(), target.name(), flags).and_then(|named| {
        let ours = sys::stat(&named)?.is(&staged.stat);
        if ours { sys::set_mode(&named, staged.stat.mode) } else { Ok(()) }
    });
    if let Err(errno) = announced {
        tracing::debug!(?errno, "a replaced file was not announced by a change of mode");
    }
}

fn open_old(root: &Root, place: &Place, guard: Guard) -> Result<Old, Error> {
    let file = match root.open_file(place) {
        Ok(file) => file,
        Err(Error::Path(PathError::FileMissing { .. })) => {
            return Err(WriteError::NoIncumbent { path: place.asked().to_owned() }.into());
        }
        Err(Error::Write(WriteError::PermissionDenied { .. })) => return unreadable(place, guard),
        Err(error) => return Err(error),
    };
    let window = if file.size() <= SMALL { 0..u64::MAX } else { 0..0 };
    let (look, stat) = file.look_and_stat(window, root.config.max_hash_bytes)?;
    match (guard, look.hash) {
        (Guard::Hash(wanted), Some(found)) if wanted != found => return Err(stale(place, found, look.size)),
        (Guard::Hash(_), None) => {
            return Err(
                WriteError::over_hash_cap(place.asked(), look.size, root.config.max_hash_bytes).into()
            );
        }
        _ => {}
    }
    let bytes = (look.bytes.len() as u64 == look.size).then_some(look.bytes);
    Ok(Old { file: Some(file.file), stat, hash: look.hash, bytes })
}

/// A file that may not be read can be replaced, but not compared.
fn unreadable(place: &Place, guard: Guard) -> Result<Old, Error> {
    if guard != Guard::None {
        return Err(WriteError::unreadable(place.asked()).into());
    }
    let stat = sys::stat_at(super::super::resolve::handle(place), place.name()).at("stat", place.asked())?;
    Ok(Old { file: None, stat, hash: None, bytes: None })
}

/// Stages the new bytes with the metadata of the old file, under a name in a staging folder.
fn stage_like(
    root: &Root,
    target: &Target<'_>,
    area: &Arc<Area>,
    old: &Old,
    content: &mut Content,
) -> Result<(Staged, Vec<Warning>), Error> {
    let call = stage::Call { root, asked: target.asked(), flush: stage::Flush::Now };
    stage::twice(content, |content| {
        let mut warnings = Vec::new();
        let dress = |file: &OwnedFd, staged: &Stat| {
            meta::drop_inherited_acl(file);
            warnings = meta::copy(old.file.as_ref(), &old.stat, file, staged);
            meta::tell_times_apart(&old.stat, file, staged)
        };
        let (file, slot) = match stage::open_unnamed(root, target, area.dir())? {
            Some(file) => (file, None),
            None => stage::open_named(area, 0o600, target.asked()).map(|(file, slot)| (file, Some(slot)))?,
        };
        let mut staged = stage::fill(call, file, slot, content, dress)?;
        if staged.slot.is_none() {
            staged.link_into(area).at("link staged", target.asked())?;
        }
        Ok((staged, warnings))
    })
}
