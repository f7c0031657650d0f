//! Taking a swap back: no foreign byte is unlinked, each is at its name again or parked.

use rustix::io::Errno;

use super::{
    super::{
        context::failure,
        displaced::park::{self, Kind},
        read,
        sys::{self, Stat},
    },
    area::Slot,
    replace::Guard,
    swap::{Found, Swap, patient_lease},
};
use crate::error::{Error, RaceProblem, WriteError};

/// Rounds against writers that keep bringing newer versions; then the older one is parked.
const ROUNDS: usize = 8;

impl Swap<'_> {
    /// Undoes an exchange whose displaced file was not what was expected, before the lease on it ends: an opener that
    /// is held back then writes to the file that is at its name.
    pub(super) fn swap_back(&self, slot: &mut Slot, found: Found) -> Error {
        // The oldest version that is not yet accounted for: it ends in the history when newer ones have come.
        let mut oldest = sys::stat_at(slot.dir(), slot.name());
        for _ in 0..ROUNDS {
            if let Err(errno) = self.exchange(slot) {
                return self.cannot_go_back(slot, found, errno);
            }
            match self.what_came_out(slot) {
                Out::Ours => {
                    slot.fill();
                    return self.refusal(found);
                }
                Out::OursEdited => return self.parked(slot, RaceProblem::Content),
                Out::Newer => {}
            }
            let newer = sys::stat_at(slot.dir(), slot.name());
            if same(newer, oldest) {
                return self.parked(slot, RaceProblem::Replaced);
            }
            // A newer version came to the name meanwhile and must stay there; what was there before is the older one.
            if self.exchange(slot).is_err() || same(sys::stat_at(slot.dir(), slot.name()), oldest) {
                return self.parked(slot, RaceProblem::Replaced);
            }
            // And one newer still, which is in our hands now; the round begins anew with the one at the name.
            oldest = newer;
        }
        self.parked(slot, RaceProblem::Replaced)
    }

    fn exchange(&self, slot: &Slot) -> Result<(), Errno> {
        sys::exchange(slot.dir(), slot.name(), self.target.dir(), self.target.name())
    }

    fn what_came_out(&self, slot: &Slot) -> Out {
        let Ok(out) = sys::stat_at(slot.dir(), slot.name()) else { return Out::Newer };
        if !out.is(&self.staged.stat) {
            return Out::Newer;
        }
        if self.is_untouched(&out) { Out::Ours } else { Out::OursEdited }
    }

    /// Our own text, which stood at the name for an instant, is as we staged it and nobody has it open for writing.
    ///
    /// Where leases do not exist the hash alone decides.
    fn is_untouched(&self, out: &Stat) -> bool {
        let lease = patient_lease(&self.staged.file);
        let same = out.size == self.staged.size
            && read::hash_of(&self.staged.file, out.size).is_ok_and(|hash| hash == self.staged.hash);
        same && match lease {
            Ok(lease) => lease.is_whole(),
            Err(errno) => errno != Errno::AGAIN,
        }
    }

    /// The exchange back was refused. Where the name was given up by somebody in this instant, what we displaced is
    /// theirs; where our text still stands at it, the caller is told so. What was displaced is parked.
    fn cannot_go_back(&self, slot: &mut Slot, found: Found, errno: Errno) -> Error {
        match (found, errno) {
            (Found::Moved, _) => self.target.moved(true),
            (_, Errno::NOENT) => self.parked(slot, RaceProblem::Deleted),
            (Found::Race(problem), _) => self.parked(slot, problem),
            _ => self.parked(slot, RaceProblem::Content),
        }
    }

    /// A kept link of the old file goes back over our text, if that is still at the name; otherwise it is parked.
    pub(super) fn put_kept_back(&self, kept: &mut Slot, found: Found) -> Error {
        if self.is_ours_at_name()
            && sys::rename_over(kept.dir(), kept.name(), self.target.dir(), self.target.name()).is_ok()
        {
            return self.refusal(found);
        }
        self.parked(kept, RaceProblem::Replaced)
    }

    fn is_ours_at_name(&self) -> bool {
        same(sys::stat_at(self.target.dir(), self.target.name()), Ok(self.staged.stat))
    }

    /// Keeps what stands in the slot in the history, and says whether our text stands at the name all the same.
    fn parked(&self, slot: &mut Slot, problem: RaceProblem) -> Error {
        let entry = park::park(self.root, slot, self.target.path().as_str(), Kind::Conflict);
        let parked_at = entry.inspect_err(|errno| {
            tracing::warn!(?errno, "foreign bytes could not be parked; they stay in the staging folder");
        });
        WriteError::ConcurrentWrite {
            path: self.target.asked().to_owned(),
            problem,
            published: self.is_ours_at_name(),
            parked_at: parked_at.ok(),
            guarded: self.guard != Guard::None,
        }
        .into()
    }

    /// The reason of a call that left everything as it was.
    pub(super) fn refusal(&self, found: Found) -> Error {
        match found {
            Found::Race(problem) => self.race(problem),
            Found::Special(stat) => match self.target.place.refuse_special(&stat) {
                Err(error) => error,
                Ok(()) => self.race(RaceProblem::Replaced),
            },
            Found::Moved => self.target.moved(false),
            Found::Failed(errno) => failure(errno, "verify", self.target.asked()),
        }
    }
}

/// Both were found, and are one file.
fn same(one: Result<Stat, Errno>, other: Result<Stat, Errno>) -> bool {
    one.is_ok_and(|one| other.is_ok_and(|other| one.is(&other)))
}

/// What a swap back took from the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Out {
    /// Our staged file, as we staged it.
    Ours,
    /// Our staged file, which somebody wrote to.
    OursEdited,
    /// Another file.
    Newer,
}
