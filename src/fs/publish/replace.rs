//! Replacing a file, bound to what is displaced.
//!
//! The new bytes and the old ones swap names in one step; what came out is then proved to be what was expected, and
//! otherwise swapped back. A read lease on the old file tells of writers that have it open.

use std::{
    os::fd::OwnedFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{
    super::{
        Place, Root,
        context::{IoContext, failure},
        read,
        sys::{
            self, Stat,
            lease::{Lease, NO_LEASE},
        },
    },
    Content, DurableReason, Guarantee, Warning, Written,
    area::{Area, Slot},
    create::NO_HARD_LINK,
    meta, race,
    stage::{self, Staged},
    stale, sync,
    target::Target,
};
use crate::{
    error::{Error, PathError, RaceProblem, UnguardableProblem, WriteError},
    text::ContentHash,
};

/// How long a program that has the file open for writing is waited for.
const WRITER_PATIENCE: Duration = Duration::from_millis(20);
const WRITER_POLL: Duration = Duration::from_micros(100);
/// `renameat2` flags that a mount does not have.
pub(in crate::fs) const NO_EXCHANGE: &[Errno] = &[Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];

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
    bytes: Option<Vec<u8>>,
}

/// Files up to this size stay in memory while they are replaced.
const SMALL: u64 = 64 * 1024;

/// A replacement that is staged and about to be published.
pub(super) struct Swap<'call> {
    pub(super) root: &'call Root,
    pub(super) target: &'call Target<'call>,
    pub(super) old: &'call Old,
    pub(super) staged: &'call Staged,
    pub(super) guard: Guard,
}

/// What a commit displaced: hash and size.
pub(super) type Displaced = (Option<ContentHash>, u64);

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
    let area = root.area(target)?;
    let (mut staged, mut warnings) = stage_like(root, target, &area, &old, content)?;
    let mut slot = staged.slot.take().ok_or_else(|| failure(Errno::IO, "stage", target.asked()))?;
    let swap = Swap { root, target, old: &old, staged: &staged, guard };
    let (displaced, guarantee) = {
        let _folder = if locked { None } else { Some(target.lock_folder(root.config.lock_timeout)?) };
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
        (Guard::Hash(_), None) => return Err(over_cap(place, look.size, root.config.max_hash_bytes)),
        _ => {}
    }
    let bytes = (look.bytes.len() as u64 == look.size).then_some(look.bytes);
    Ok(Old { file: Some(file.file), stat, hash: look.hash, bytes })
}

pub(super) fn over_cap(place: &Place, size: u64, cap: u64) -> Error {
    WriteError::PreconditionUnavailable {
        path: place.asked().to_owned(),
        size_in_bytes: Some(size),
        cap_in_bytes: Some(cap),
        setting: Some("MAX_HASH_BYTES"),
        problem: None,
    }
    .into()
}

/// A file that may not be read can be replaced, but not compared.
fn unreadable(place: &Place, guard: Guard) -> Result<Old, Error> {
    if guard != Guard::None {
        return Err(WriteError::PreconditionUnavailable {
            path: place.asked().to_owned(),
            size_in_bytes: None,
            cap_in_bytes: None,
            setting: None,
            problem: Some(UnguardableProblem::Unreadable),
        }
        .into());
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

impl Swap<'_> {
    /// The ladder of tiers; under the folder's flock.
    fn publish(&self, slot: &mut Slot) -> Result<(Displaced, Guarantee), Error> {
        let tier = self.root.config.max_tier.1;
        let plain = !self.root.config.durable && self.guard == Guard::None;
        if tier <= 2 && !plain && self.target.mount.exchange.worth_trying() {
            match self.by_exchange(slot, tier) {
                Err(Error::Write(WriteError::IoError { step: UNSUPPORTED, .. })) => {}
                other => return other,
            }
        }
        if tier <= 3 && !plain && self.target.mount.hard_link.worth_trying() {
            match self.by_kept_link(slot) {
                Err(Error::Write(WriteError::IoError { step: UNSUPPORTED, .. })) => {}
                other => return other,
            }
        }
        self.by_rename(slot)
    }

    /// C1, and C2 where no lease is to be had.
    fn by_exchange(&self, slot: &mut Slot, tier: u8) -> Result<(Displaced, Guarantee), Error> {
        let lease = if tier <= 1 { self.lease()? } else { None };
        self.last_look()?;
        let swapped = sys::exchange(slot.dir(), slot.name(), self.target.dir(), self.target.name());
        self.target.mount.exchange.learn(&swapped, NO_EXCHANGE);
        swapped.map_err(|errno| self.exchange_failure(errno))?;
        slot.keep();
        let displaced = match self.verify(slot, lease.as_ref()) {
            Ok(displaced) => displaced,
            Err(found) => return Err(self.swap_back(slot, found)),
        };
        slot.fill();
        let guarantee = if lease.is_some() { Guarantee::Linearizable } else { Guarantee::Detecting };
        Ok((displaced, guarantee))
    }

    fn exchange_failure(&self, errno: Errno) -> Error {
        match errno {
            Errno::NOENT if self.target.is_removed() => self.target.moved(false),
            Errno::NOENT => self.race(RaceProblem::Deleted),
            errno if NO_EXCHANGE.contains(&errno) => failure(Errno::IO, UNSUPPORTED, self.target.asked()),
            errno => failure(errno, "exchange", self.target.asked()),
        }
    }

    /// C3: the old file keeps a second name in the staging folder, so that late bytes can be found and put back.
    fn by_kept_link(&self, slot: &mut Slot) -> Result<(Displaced, Guarantee), Error> {
        self.last_look()?;
        let mut kept = slot.beside();
        let linked = sys::link(self.target.dir(), self.target.name(), kept.dir(), kept.name());
        self.target.mount.hard_link.learn(&linked, NO_HARD_LINK);
        linked.map_err(|errno| match errno {
            Errno::NOENT => self.race(RaceProblem::Deleted),
            errno if NO_HARD_LINK.contains(&errno) => failure(Errno::IO, UNSUPPORTED, self.target.asked()),
            errno => failure(errno, "keep", self.target.asked()),
        })?;
        kept.fill();
        self.check_kept(&kept)?;
        sys::rename_over(slot.dir(), slot.name(), self.target.dir(), self.target.name())
            .at("publish", self.target.asked())?;
        slot.keep();
        kept.keep();
        match self.verify(&kept, None) {
            Ok(displaced) => {
                kept.fill();
                Ok((displaced, Guarantee::Detecting))
            }
            Err(found) => Err(self.put_kept_back(&mut kept, found)),
        }
    }

    /// The kept name holds the file that was expected, before anything is renamed over.
    fn check_kept(&self, kept: &Slot) -> Result<(), Error> {
        match self.verify(kept, None) {
            Ok(_) => Ok(()),
            Err(Found::Race(problem)) => Err(self.race(problem)),
            Err(found) => Err(self.refusal(found)),
        }
    }

    /// C4: look, then rename over.
    fn by_rename(&self, slot: &mut Slot) -> Result<(Displaced, Guarantee), Error> {
        self.last_look()?;
        sys::rename_over(slot.dir(), slot.name(), self.target.dir(), self.target.name()).map_err(
            |errno| match errno {
                Errno::NOENT if self.target.is_removed() => self.target.moved(false),
                errno => failure(errno, "publish", self.target.asked()),
            },
        )?;
        slot.keep();
        if !self.target.is_still_there(self.root) {
            return Err(self.target.moved(true));
        }
        Ok(((self.old.hash, self.old.stat.size), Guarantee::BestEffort))
    }

    /// A read lease on the old file; a writer that has it open is waited for, and then is a race when the call is
    /// bound to bytes.
    fn lease(&self) -> Result<Option<Lease<'_>>, Error> {
        let Some(file) = &self.old.file else { return Ok(None) };
        if !self.target.mount.lease.worth_trying() {
            return Ok(None);
        }
        let start = Instant::now();
        loop {
            let taken = Lease::take(file);
            self.target.mount.lease.learn(&taken, NO_LEASE);
            match taken {
                Ok(lease) => return Ok(Some(lease)),
                Err(Errno::AGAIN) if self.guard == Guard::None => return Ok(None),
                Err(Errno::AGAIN) if start.elapsed() < WRITER_PATIENCE => thread::sleep(WRITER_POLL),
                Err(Errno::AGAIN) => return Err(self.race(RaceProblem::OpenWriter)),
                Err(_) => return Ok(None),
            }
        }
    }

    /// The name still leads to the file that was read, and its bytes are those.
    fn last_look(&self) -> Result<(), Error> {
        let there = match sys::stat_at(self.target.dir(), self.target.name()) {
            Ok(there) => there,
            Err(Errno::NOENT) => return Err(self.race(RaceProblem::Deleted)),
            Err(errno) => return Err(failure(errno, "look again", self.target.asked())),
        };
        self.target.place.refuse_special(&there)?;
        if self.guard == Guard::None {
            return Ok(());
        }
        if !there.is(&self.old.stat) {
            return Err(self.race(RaceProblem::Replaced));
        }
        let moved = !there.unmoved(&self.old.stat);
        if moved && self.hash_now()? != self.old.hash {
            return Err(self.race(RaceProblem::Content));
        }
        Ok(())
    }

    /// The hash of the old file as it is now.
    pub(super) fn hash_now(&self) -> Result<Option<ContentHash>, Error> {
        let Some(file) = &self.old.file else { return Ok(None) };
        let size = sys::stat(file).at("stat", self.target.asked())?.size;
        if size > self.root.config.max_hash_bytes {
            return Ok(None);
        }
        let hash = match (&self.old.bytes, self.old.hash) {
            (Some(bytes), Some(known)) => read::hash_again(file, size, bytes, known),
            _ => read::hash_of(file, size),
        };
        hash.map(Some).at("read", self.target.asked())
    }

    /// Proves that what came out is what was expected, and that the folder is where it was.
    fn verify(&self, slot: &Slot, lease: Option<&Lease<'_>>) -> Result<Displaced, Found> {
        let out = sys::stat_at(slot.dir(), slot.name()).map_err(Found::Failed)?;
        if out.kind != FileType::RegularFile {
            return Err(Found::Special(out));
        }
        let displaced = match (self.guard, out.is(&self.old.stat)) {
            (Guard::Hash(wanted), true) => {
                let hash = self.hash_now().map_err(|_| Found::Failed(Errno::IO))?;
                if hash != Some(wanted) {
                    return Err(Found::Race(RaceProblem::Content));
                }
                (hash, out.size)
            }
            (Guard::Hash(_), false) => return Err(Found::Race(RaceProblem::Replaced)),
            (Guard::None, _) => (self.hash_out(slot, &out), out.size),
        };
        if self.guard != Guard::None && lease.is_some_and(|lease| !lease.is_whole()) {
            return Err(Found::Race(RaceProblem::OpenWriter));
        }
        if !self.target.is_still_there(self.root) {
            return Err(Found::Moved);
        }
        Ok(displaced)
    }

    /// The hash of what an unguarded overwrite really displaced.
    fn hash_out(&self, slot: &Slot, out: &Stat) -> Option<ContentHash> {
        if out.is(&self.old.stat) {
            return self.hash_now().ok().flatten();
        }
        if out.size > self.root.config.max_hash_bytes {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = sys::open(slot.dir(), slot.name(), flags).ok()?;
        read::hash_of(&file, out.size).ok()
    }

    pub(super) fn race(&self, problem: RaceProblem) -> Error {
        race(&self.target.place.requested, problem, self.guard != Guard::None).into()
    }
}

/// The mark of a tier that this mount does not have.
const UNSUPPORTED: &str = "unsupported here";

/// What a displaced file turned out to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// Not what was expected.
    Race(RaceProblem),
    /// A link, folder or special file.
    Special(Stat),
    /// The folder is not where it was.
    Moved,
    /// It could not be looked at.
    Failed(Errno),
}
