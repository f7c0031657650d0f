//! One replacement under way: the ladder of tiers, and the proof of what was displaced.

use std::{
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{
    super::{
        Root,
        context::{IoContext, failure},
        read,
        sys::{
            self, Stat,
            lease::{Lease, NO_LEASE},
        },
    },
    Guarantee,
    area::Slot,
    create::NO_HARD_LINK,
    race,
    replace::{Guard, Old},
    stage::Staged,
    target::Target,
};
use crate::{
    error::{Error, RaceProblem},
    text::ContentHash,
};

/// How long a program that has the file open for writing is waited for.
const WRITER_PATIENCE: Duration = Duration::from_millis(20);
const WRITER_POLL: Duration = Duration::from_micros(100);
/// `renameat2` flags that a mount does not have.
pub(in crate::fs) const NO_EXCHANGE: &[Errno] = &[Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];

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

impl Swap<'_> {
    /// The ladder of tiers; under the folder's flock.
    pub(super) fn publish(&self, slot: &mut Slot) -> Result<(Displaced, Guarantee), Error> {
        let tier = self.root.config.max_tier.1;
        let plain = !self.root.config.durable && self.guard == Guard::None;
        if tier <= 2
            && !plain
            && self.target.mount.exchange.worth_trying()
            && let Some(done) = self.by_exchange(slot, tier)?
        {
            return Ok(done);
        }
        if tier <= 3
            && !plain
            && self.target.mount.hard_link.worth_trying()
            && let Some(done) = self.by_kept_link(slot)?
        {
            return Ok(done);
        }
        self.by_rename(slot)
    }

    /// C1, and C2 where no lease is to be had; none where the mount cannot exchange names.
    fn by_exchange(&self, slot: &mut Slot, tier: u8) -> Result<Option<(Displaced, Guarantee)>, Error> {
        let lease = if tier <= 1 { self.lease()? } else { None };
        self.last_look()?;
        let swapped = sys::exchange(slot.dir(), slot.name(), self.target.dir(), self.target.name());
        self.target.mount.exchange.learn(&swapped, NO_EXCHANGE);
        match swapped {
            Ok(()) => slot.keep(),
            Err(errno) if NO_EXCHANGE.contains(&errno) => return Ok(None),
            Err(errno) => return Err(self.publication_failure(errno)),
        }
        let displaced = match self.verify(slot, lease.as_ref()) {
            Ok(displaced) => displaced,
            Err(found) => return Err(self.swap_back(slot, found)),
        };
        slot.fill();
        let guarantee = if lease.is_some() { Guarantee::Linearizable } else { Guarantee::Detecting };
        Ok(Some((displaced, guarantee)))
    }

    /// C3: the old file keeps a second name in the staging folder, so that late bytes can be found and put back; none
    /// where the mount has no hard links.
    fn by_kept_link(&self, slot: &mut Slot) -> Result<Option<(Displaced, Guarantee)>, Error> {
        self.last_look()?;
        let mut kept = slot.beside();
        let linked = sys::link(self.target.dir(), self.target.name(), kept.dir(), kept.name());
        self.target.mount.learn_hard_link(&linked);
        match linked {
            Ok(()) => kept.fill(),
            Err(errno) if NO_HARD_LINK.contains(&errno) => return Ok(None),
            Err(errno) => return Err(self.publication_failure(errno)),
        }
        // Before anything is renamed over, the kept name must hold the file that was expected.
        self.verify(&kept, None).map_err(|found| self.refusal(found))?;
        sys::rename_over(slot.dir(), slot.name(), self.target.dir(), self.target.name())
            .map_err(|errno| self.publication_failure(errno))?;
        slot.keep();
        kept.keep();
        match self.verify(&kept, None) {
            Ok(displaced) => {
                kept.fill();
                Ok(Some((displaced, Guarantee::Detecting)))
            }
            Err(found) => Err(self.put_kept_back(&mut kept, found)),
        }
    }

    /// C4: look, then rename over.
    fn by_rename(&self, slot: &mut Slot) -> Result<(Displaced, Guarantee), Error> {
        self.last_look()?;
        sys::rename_over(slot.dir(), slot.name(), self.target.dir(), self.target.name())
            .map_err(|errno| self.publication_failure(errno))?;
        slot.keep();
        if !self.target.is_still_there(self.root) {
            return Err(self.target.moved(true));
        }
        Ok(((self.old.hash, self.old.stat.size), Guarantee::BestEffort))
    }

    /// Why the kernel refused the step that publishes.
    fn publication_failure(&self, errno: Errno) -> Error {
        match errno {
            Errno::NOENT if self.target.is_removed() => self.target.moved(false),
            Errno::NOENT => self.race(RaceProblem::Deleted),
            errno => failure(errno, "publish", self.target.asked()),
        }
    }

    /// A read lease on the old file; a writer that has it open is waited for, and then is a race when the call is
    /// bound to bytes.
    fn lease(&self) -> Result<Option<Lease<'_>>, Error> {
        let Some(file) = &self.old.file else { return Ok(None) };
        if !self.target.mount.lease.worth_trying() {
            return Ok(None);
        }
        let taken = if self.guard == Guard::None { Lease::take(file) } else { patient_lease(file) };
        self.target.mount.lease.learn(&taken, NO_LEASE);
        match taken {
            Ok(lease) => Ok(Some(lease)),
            Err(Errno::AGAIN) if self.guard != Guard::None => Err(self.race(RaceProblem::OpenWriter)),
            Err(_) => Ok(None),
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
            return if self.is_the_same_elsewhere() { Ok(()) } else { Err(self.race(RaceProblem::Replaced)) };
        }
        let moved = !there.unmoved(&self.old.stat);
        if moved && self.hash_now()? != self.old.hash {
            return Err(self.race(RaceProblem::Content));
        }
        Ok(())
    }

    /// Some remote file systems give a file another inode number from one look to the next; its bytes decide there.
    fn is_the_same_elsewhere(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        self.target.mount.facts.is_remote()
            && sys::open(self.target.dir(), self.target.name(), flags)
                .and_then(|file| read::hash_of(&file, sys::stat(&file)?.size))
                .is_ok_and(|hash| Some(hash) == self.old.hash)
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

/// A read lease, or `EAGAIN` when a program still has the file open for writing after [`WRITER_PATIENCE`].
///
/// A process that was forked a moment ago counts as such a program until its `exec`, though it writes nothing.
pub(super) fn patient_lease(file: &OwnedFd) -> Result<Lease<'_>, Errno> {
    let start = Instant::now();
    loop {
        match Lease::take(file) {
            Err(Errno::AGAIN) if start.elapsed() < WRITER_PATIENCE => thread::sleep(WRITER_POLL),
            taken => return taken,
        }
    }
}

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
