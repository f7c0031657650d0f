//! Read, compute, replace; and again after a race that was lost.

use super::{
    super::{Lookup, Place, Root},
    Content, Written,
    create::{self, Promise},
    race,
    replace::{self, Guard},
    stale,
    target::Target,
};
use crate::{
    error::{Error, PathError, RaceProblem, WriteError},
    path::VaultPath,
    text::ContentHash,
};

/// Tries under the folder's flock, where only a foreign writer can still win.
const LOCKED_TRIES: usize = 4;

/// From the bytes that are there, or from nothing, the bytes that are to be there.
pub type Compute<'call> = &'call mut dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, Error>;

/// Judges a place that a path was found to lead to, before anything is read or written there.
pub type Admit<'call> = &'call dyn Fn(&Place) -> Result<(), Error>;

impl Root {
    /// Edits a file: what `compute` makes of its bytes replaces exactly those bytes.
    ///
    /// Guarantees that the result was computed from the bytes it displaced, whoever else writes. `compute` must be
    /// pure, since it runs again when another writer came first; calls of our own processes then take turns. With the
    /// caller's hash there is one try. An absent file is created from `compute(None)`. The same bytes again are no
    /// write. Errors of `compute` end the call with nothing written.
    pub fn update(
        &self,
        path: &VaultPath,
        lookup: Lookup,
        caller: Option<ContentHash>,
        admit: Admit<'_>,
        compute: Compute<'_>,
    ) -> Result<Written, Error> {
        let mut edit = Edit { root: self, path, lookup, caller, admit, compute };
        let first = edit.attempt(false);
        if caller.is_some() || !lost_race(&first) {
            return first;
        }
        for _ in 1..LOCKED_TRIES {
            let again = edit.attempt(true);
            if !lost_race(&again) {
                return again;
            }
        }
        edit.attempt(true)
    }
}

struct Edit<'call> {
    root: &'call Root,
    path: &'call VaultPath,
    lookup: Lookup,
    caller: Option<ContentHash>,
    admit: Admit<'call>,
    compute: Compute<'call>,
}

impl Edit<'_> {
    fn attempt(&mut self, locked: bool) -> Result<Written, Error> {
        let place = self.root.place(self.path, self.lookup)?;
        (self.admit)(&place)?;
        if !place.exists() {
            return self.create(&place);
        }
        let target = Target::open(self.root, &place)?;
        let _name = target.lock_name(self.root.config.lock_timeout)?;
        let _folder = if locked { Some(target.lock_folder(self.root.config.lock_timeout)?) } else { None };
        self.replace(&target, locked)
    }

    fn create(&mut self, place: &Place) -> Result<Written, Error> {
        if self.caller.is_some() {
            return Err(WriteError::NoIncumbent { path: place.asked().to_owned() }.into());
        }
        let mut content = Content::Bytes((self.compute)(None)?);
        create::create_once(self.root, place, &mut content, Promise::NoClobber)
    }

    fn replace(&mut self, target: &Target<'_>, locked: bool) -> Result<Written, Error> {
        let file = self.root.open_file(target.place)?;
        let cap = self.root.config.max_hash_bytes;
        let look = file.whole(cap)?;
        let Some(hash) = look.hash else {
            return Err(WriteError::over_hash_cap(target.asked(), look.size, cap).into());
        };
        if self.caller.is_some_and(|caller| caller != hash) {
            return Err(stale(target.place, hash, look.size));
        }
        let bytes = (self.compute)(Some(&look.bytes))?;
        if bytes == look.bytes {
            return Ok(Written::unchanged(target.path(), hash, look.size));
        }
        let mut content = Content::Bytes(bytes);
        let replaced = replace::replace_named(self.root, target, &mut content, Guard::Hash(hash), locked);
        replaced.map_err(|error| self.settle(target, error))
    }

    /// The hash that this call read went stale within the call: to the caller that is a race, and one worth a retry
    /// unless the hash was the caller's own.
    fn settle(&self, target: &Target<'_>, error: Error) -> Error {
        let as_race = |problem| race(&target.place.requested, problem, self.caller.is_some()).into();
        match error {
            Error::Write(WriteError::StalePrecondition { .. }) => as_race(RaceProblem::Content),
            Error::Write(WriteError::NoIncumbent { .. }) => as_race(RaceProblem::Deleted),
            Error::Write(WriteError::ConcurrentWrite { path, problem, published, parked_at, .. }) => {
                let guarded = self.caller.is_some();
                WriteError::ConcurrentWrite { path, problem, published, parked_at, guarded }.into()
            }
            other => other,
        }
    }
}

/// Another writer came first, and a new try from its bytes may succeed. One whose bytes had to be parked is told.
fn lost_race(result: &Result<Written, Error>) -> bool {
    matches!(
        result,
        Err(Error::Write(
            WriteError::ConcurrentWrite { published: false, parked_at: None, .. }
                | WriteError::FileExists { .. }
        ) | Error::Path(PathError::FileChanging { .. }))
    )
}
