//! Publishing a file under a name that must be free.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{
    super::{
        Place, Root,
        context::failure,
        sys::{self, Stat, Step},
    },
    Content, DurableReason, Guarantee, Warning, Written,
    area::Slot,
    stage::{self, Flush, Staged},
    sync,
    target::Target,
};
use crate::{
    error::{Error, WriteError},
    text::ContentHash,
};

/// What the caller was promised of a file that may have come to be meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// It is never replaced.
    NoClobber,
    /// Nothing: the call is an overwrite that found the name free.
    Overwrite,
}

/// Renames and links of which a mount says that it has no such call.
pub(in crate::fs) const NO_RENAME_FLAG: &[Errno] = &[Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];
/// rclone answers `EIO` to a hard link.
pub(in crate::fs) const NO_HARD_LINK: &[Errno] = &[Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS, Errno::IO];

/// Publishes a new file. The name is taken in one step that fails when anything at all stands there.
///
/// On an error no file and no folder made for it stays.
pub(super) fn create(
    root: &Root,
    place: &Place,
    content: &mut Content,
    promise: Promise,
) -> Result<Written, Error> {
    if let Some(leaf) = place.leaf {
        place.refuse_special(&leaf)?;
        return Err(exists(root, place));
    }
    match create_once(root, place, content, promise) {
        // A folder that was removed, not moved: the path may lead to a new one.
        Err(Error::Write(WriteError::ParentMoved { published: false, .. }))
            if content.can_be_read_again() && (place.is_removed() || !place.missing.is_empty()) =>
        {
            let again = root.same_place(&place.requested, &place.canonical())?;
            create_once(root, &again, content, promise)
        }
        other => other,
    }
}

/// One try.
pub(super) fn create_once(
    root: &Root,
    place: &Place,
    content: &mut Content,
    promise: Promise,
) -> Result<Written, Error> {
    let target = Target::open(root, place)?;
    let staged = stage_new(root, &target, content, promise, Flush::Now)?;
    let published = publish(root, &target, staged, promise)?;
    let durable = sync::after_publishing(root, &target, &published.file);
    Ok(published.answer(target, durable))
}

/// Stages unnamed in the file's own folder, so that umask, default ACL and set-gid apply as to any new file; or under
/// a name in a dot-folder, where that was allowed or no promise rests on it.
pub(super) fn stage_new(
    root: &Root,
    target: &Target<'_>,
    content: &mut Content,
    promise: Promise,
    flush: Flush,
) -> Result<Staged, Error> {
    let call = stage::Call { root, asked: target.asked(), flush };
    let unnamed = stage::twice(content, |content| {
        let Some(file) = stage::open_unnamed(root, target, target.dir())? else { return Ok(None) };
        stage::fill(call, file, None, content, |_, _| Ok(())).map(Some)
    })?;
    if let Some(staged) = unnamed {
        return Ok(staged);
    }
    if promise == Promise::NoClobber && !root.config.named_staging {
        let setting = "VAULT_ALLOW_NAMED_STAGING_FALLBACK";
        return Err(WriteError::StagingUnsupported { path: target.asked().to_owned(), setting }.into());
    }
    let area = root.area(target)?;
    stage::twice(content, |content| {
        let (file, slot) = stage::open_named(&area, 0o666, target.asked())?;
        stage::fill(call, file, Some(slot), content, |_, _| Ok(()))
    })
}

/// A published file: its handle, what it holds, the tier's guarantee, and whether it was staged under a name.
pub(super) struct Published {
    pub(super) file: OwnedFd,
    hash: ContentHash,
    size: u64,
    guarantee: Guarantee,
    named: bool,
}

impl Published {
    /// The answer of a create; the folders made for it stay.
    pub(super) fn answer(self, mut target: Target<'_>, durable: Result<(), DurableReason>) -> Written {
        let flush_failed = durable == Err(DurableReason::SyncFailed);
        let warnings = [(flush_failed, Warning::NotDurable), (self.named, Warning::NamedStagingUsed)];
        Written {
            path: target.path().clone(),
            hash: self.hash,
            size: self.size,
            changed: true,
            previous: None,
            durable: Some(durable),
            guarantee: sync::guarantee(self.guarantee, &target),
            warnings: warnings
                .into_iter()
                .filter_map(|(applies, warning)| applies.then_some(warning))
                .collect(),
            created_folders: target.keep_folders(),
        }
    }
}

/// Takes the name under the folder's flock, then proves that the folder is still where the path leads.
pub(super) fn publish(
    root: &Root,
    target: &Target<'_>,
    mut staged: Staged,
    promise: Promise,
) -> Result<Published, Error> {
    let lock = target.lock_folder(root.config.lock_timeout)?;
    root.refuse_variant_now(target)
        .map_err(|error| if target.is_removed() { target.moved(false) } else { error })?;
    let named = staged.slot.is_some();
    let taken = match staged.slot.as_mut() {
        None => {
            stage::link_unnamed(&staged.file, target.dir(), target.name()).map(|()| Guarantee::Linearizable)
        }
        Some(slot) => take_name(root, target, slot, promise),
    };
    let guarantee = taken.map_err(|errno| refusal(root, target, errno))?;
    if !target.is_still_there(root) {
        return Err(withdraw(target, &staged));
    }
    drop(lock);
    Ok(Published { file: staged.file, hash: staged.hash, size: staged.size, guarantee, named })
}

/// The ladder of tiers for a file that stands under a name in a staging folder.
fn take_name(
    root: &Root,
    target: &Target<'_>,
    slot: &mut Slot,
    promise: Promise,
) -> Result<Guarantee, Errno> {
    if root.config.max_tier.0 <= 2 && target.mount.no_replace.worth_trying() {
        let renamed = sys::rename_new(slot.dir(), slot.name(), target.dir(), target.name());
        target.mount.no_replace.learn(&renamed, NO_RENAME_FLAG);
        if !unsupported(renamed, NO_RENAME_FLAG) {
            return renamed.map(|()| moved_out(slot, Guarantee::Linearizable));
        }
    }
    if root.config.max_tier.0 <= 3 && target.mount.hard_link.worth_trying() {
        let linked = sys::link(slot.dir(), slot.name(), target.dir(), target.name());
        target.mount.learn_hard_link(&linked);
        if !unsupported(linked, NO_HARD_LINK) {
            return linked.map(|()| Guarantee::Linearizable);
        }
    }
    let held = if promise == Promise::NoClobber { Some(hold_place(target)?) } else { None };
    sys::rename_over(slot.dir(), slot.name(), target.dir(), target.name()).inspect_err(|_| {
        if let Some(held) = held {
            give_up_place(target, &held);
        }
    })?;
    Ok(moved_out(slot, Guarantee::BestEffort))
}

fn unsupported(result: Result<(), Errno>, errnos: &[Errno]) -> bool {
    matches!(result, Err(errno) if errnos.contains(&errno))
}

fn moved_out(slot: &mut Slot, guarantee: Guarantee) -> Guarantee {
    slot.keep();
    guarantee
}

/// Takes the name with an empty file where nothing else can: the one tier on which a reader may see it, and on which
/// a writer that comes in this instant is lost.
fn hold_place(target: &Target<'_>) -> Result<Stat, Errno> {
    let held = sys::create_exclusive(target.dir(), target.name(), 0o666, Step::Placeholder)?;
    let ours = sys::stat(&held)?;
    let there = sys::stat_at(target.dir(), target.name()).inspect_err(|_| give_up_place(target, &ours))?;
    if there.is(&ours) && there.size == 0 { Ok(ours) } else { Err(Errno::EXIST) }
}

/// Removes the empty file that held the name, if it is still that.
fn give_up_place(target: &Target<'_>, held: &Stat) {
    let there = sys::stat_at(target.dir(), target.name());
    if there.is_ok_and(|there| there.is(held) && there.size == 0)
        && let Err(errno) = sys::unlink(target.dir(), target.name())
    {
        tracing::warn!(?errno, "an empty file stays at the name of a refused write");
    }
}

/// Why the name could not be taken.
fn refusal(root: &Root, target: &Target<'_>, errno: Errno) -> Error {
    match errno {
        Errno::EXIST => match root.place(&target.place.requested, super::super::Lookup::Create) {
            Ok(place) => match place.leaf.map(|leaf| place.refuse_special(&leaf)) {
                Some(Err(error)) => error,
                _ => exists(root, &place),
            },
            Err(error) => error,
        },
        // A link into a removed folder fails in several ways.
        _ if target.is_removed() => target.moved(false),
        errno => failure(errno, "publish", target.asked()),
    }
}

/// The refusal of a name that is taken, with what is there.
pub(super) fn exists(root: &Root, place: &Place) -> Error {
    let look = root.open_file(place).and_then(|file| file.hash(root.config.max_hash_bytes)).ok();
    WriteError::FileExists {
        path: place.asked().to_owned(),
        existing_path: place.path().as_str().to_owned(),
        current_hash: look.as_ref().and_then(|look| look.hash).map(|hash| hash.to_string()),
        size_in_bytes: look.map_or_else(|| place.leaf.map_or(0, |leaf| leaf.size), |look| look.size),
    }
    .into()
}

/// Takes a published file back out of a folder that was moved away meanwhile.
fn withdraw(target: &Target<'_>, staged: &Staged) -> Error {
    let ours = sys::stat_at(target.dir(), target.name()).is_ok_and(|there| there.is(&staged.stat));
    let gone = !ours || sys::unlink(target.dir(), target.name()).is_ok();
    target.moved(!gone)
}

impl Root {
    /// The case rule once more, under the folder's flock: a twin may have come since the path was looked up.
    fn refuse_variant_now(&self, target: &Target<'_>) -> Result<(), Error> {
        if self.config.case_variants || target.is_as_listed() {
            return Ok(());
        }
        self.refuse_twins(target.dir(), target.place)
    }
}
