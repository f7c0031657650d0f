//! Bytes in: what a write believes is there, what it brings, and what came of it.

pub(crate) mod area;
pub(super) mod create;
mod group;
mod meta;
pub(super) mod replace;
mod rollback;
pub(super) mod stage;
pub(super) mod swap;
pub(super) mod sync;
mod target;
mod update;

use std::io::Read;

use serde::Serialize;

pub use sync::{DurableReason, Guarantee};
pub use update::{Admit, Compute};

use super::{
    Place, Root, Source, VaultFile,
    source::{check_source, pour_through},
};
use crate::{
    error::{Error, PathError, WriteError},
    path::VaultPath,
    text::ContentHash,
};

/// What a write believes lies at its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: the name is never taken over.
    Absent,
    /// A file, whatever it holds.
    Any,
    /// A file, whatever it holds, or nothing.
    AnyOrAbsent,
    /// A file with these bytes.
    Hash(ContentHash),
}

/// What a write brings.
pub enum Content {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Bytes that are read once, in constant memory, and the hash they must have, where one was given.
    Stream(Box<dyn Read + Send>, Option<ContentHash>),
    /// An open file outside the vault, reflinked where possible.
    File(Source),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Stream(..) => f.write_str("Stream"),
            Self::File(source) => write!(f, "File({})", source.size()),
        }
    }
}

/// What of a successful write is not as a caller would expect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Warning {
    /// A flush failed after the file was published.
    NotDurable,
    /// Owner or group of the replaced file could not be kept.
    OwnerChanged,
    /// These extended attributes were not copied.
    XattrsDropped(Vec<String>),
    /// The file had other names, which keep the old bytes.
    HardLinksBroken(u32),
    /// The file was staged under a name in a dot-folder.
    NamedStagingUsed,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path as it stands on disk.
    pub path: VaultPath,
    /// Of the bytes this call published.
    pub hash: ContentHash,
    /// Of the bytes this call published.
    pub size: u64,
    /// Something was published; false for a write of the bytes that were there.
    pub changed: bool,
    /// Hash (absent over the cap) and size of what was replaced; none for a creation.
    pub previous: Option<(Option<ContentHash>, u64)>,
    /// The bytes and the name survive a power cut, or why that is not known; none when nothing changed.
    pub durable: Option<Result<(), DurableReason>>,
    /// How sure it is that no other writer's bytes were replaced unseen.
    pub guarantee: Guarantee,
    /// What else to know.
    pub warnings: Vec<Warning>,
    /// Folders that were made, outermost first.
    pub created_folders: Vec<String>,
}

impl Written {
    /// The answer of a write of the bytes that are there.
    fn unchanged(path: &VaultPath, hash: ContentHash, size: u64) -> Self {
        Self {
            path: path.clone(),
            hash,
            size,
            changed: false,
            previous: Some((Some(hash), size)),
            durable: None,
            guarantee: Guarantee::Linearizable,
            warnings: Vec::new(),
            created_folders: Vec::new(),
        }
    }
}

impl Root {
    /// Publishes a file at a place, whole or not at all, in one step that nothing can see half done.
    ///
    /// Guarantees, on the tiers this file system reaches (`Written::guarantee`): with [`Expect::Absent`] nothing is
    /// ever replaced; with [`Expect::Hash`] nothing but a file of those bytes is; bytes of another program that were
    /// displaced unseen are put back or parked. At full durability success means that content and name survive a
    /// power cut, or says that this is not known. Does not guarantee that the file is still there when it returns.
    ///
    /// Errors leave the name as its last foreign writer left it, and no file or folder of ours.
    pub fn write(&self, place: Place, content: Content, expect: Expect) -> Result<Written, Error> {
        let mut content = content;
        match expect {
            Expect::Absent => create::create(self, &place, &mut content, create::Promise::NoClobber),
            Expect::Hash(hash) => replace::replace(self, &place, &mut content, replace::Guard::Hash(hash)),
            Expect::Any if !place.exists() => {
                Err(WriteError::NoIncumbent { path: place.asked().to_owned() }.into())
            }
            Expect::Any | Expect::AnyOrAbsent => self.write_over(place, &mut content),
        }
    }

    /// The refusal for a place at which a file exists that must not be replaced; it tells the hash there.
    pub fn taken(&self, place: &Place) -> Error {
        create::exists(self, place)
    }

    /// An overwrite without precondition: whatever is there is replaced, and what is not there is created.
    ///
    /// The two cases can turn into each other while the call runs; it follows a few times.
    fn write_over(&self, place: Place, content: &mut Content) -> Result<Written, Error> {
        let path = place.requested.clone();
        let canonical = place.canonical();
        let mut place = place;
        for _ in 0..OVERWRITE_TURNS {
            let result = if place.exists() {
                replace::replace(self, &place, content, replace::Guard::None)
            } else {
                create::create(self, &place, content, create::Promise::Overwrite)
            };
            match result {
                Err(error) if content.can_be_read_again() && turned(&error) => {
                    place = self.same_place(&path, &canonical)?;
                }
                other => return other,
            }
        }
        Err(race(&path, crate::error::RaceProblem::Replaced, false).into())
    }

    /// Looks the path up again for another try; it must lead where policy was judged.
    fn same_place(&self, path: &VaultPath, canonical: &VaultPath) -> Result<Place, Error> {
        let place = self.place(path, super::Lookup::Create)?;
        if place.canonical() == *canonical {
            return Ok(place);
        }
        Err(WriteError::ParentMoved { path: path.as_str().to_owned(), published: false }.into())
    }
}

const OVERWRITE_TURNS: usize = 5;

/// The name was taken or given up while an overwrite was on its way.
fn turned(error: &Error) -> bool {
    matches!(error, Error::Write(WriteError::FileExists { .. } | WriteError::NoIncumbent { .. }))
}

impl Content {
    /// The hash and size it would have, and its bytes where they are in memory; nothing is written.
    pub fn measure(self, cap: u64, asked: &str) -> Result<(ContentHash, u64, Option<Vec<u8>>), Error> {
        match self {
            Self::Bytes(bytes) => Ok((ContentHash::of(&bytes), bytes.len() as u64, Some(bytes))),
            Self::Stream(mut stream, expected) => {
                let (hash, size) = pour_through(stream.as_mut(), cap, asked, |_| Ok(()))?;
                check_source(expected, hash)?;
                Ok((hash, size, None))
            }
            Self::File(source) => {
                let (hash, size) = source.hash_through(cap, asked, |_| Ok(()))?;
                Ok((hash, size, None))
            }
        }
    }

    /// A second try may use it.
    const fn can_be_read_again(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}

fn race(path: &VaultPath, problem: crate::error::RaceProblem, guarded: bool) -> WriteError {
    WriteError::ConcurrentWrite {
        path: path.as_str().to_owned(),
        problem,
        published: false,
        parked_at: None,
        guarded,
    }
}

/// What a call that may replace a file was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// The caller's hash.
    pub hash: Option<ContentHash>,
    /// The deployment replaces nothing without one.
    pub required: bool,
    /// The largest file that is hashed.
    pub hash_cap: u64,
}

/// What the ladder found at the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incumbent {
    /// Absent over the cap, or where the file cannot be read.
    pub hash: Option<ContentHash>,
    /// In bytes.
    pub size: u64,
}

impl Ladder {
    /// Runs the refusals in their strict order on what is at the place, before any content is looked at:
    /// `no_incumbent`, `precondition_unavailable`, `precondition_required`, `stale_precondition`.
    ///
    /// Answers what is there, or nothing for a name that is free.
    pub fn judge(&self, root: &Root, place: &Place) -> Result<Option<Incumbent>, Error> {
        if !place.exists() {
            let path = place.asked().to_owned();
            return if self.hash.is_some() { Err(WriteError::NoIncumbent { path }.into()) } else { Ok(None) };
        }
        let (size, hash) = match root.open_file(place) {
            Ok(file) => self.look(&file)?,
            Err(Error::Write(WriteError::PermissionDenied { .. })) => {
                self.unreadable(place)?;
                (place.leaf.map_or(0, |leaf| leaf.size), None)
            }
            Err(Error::Path(PathError::FileMissing { .. })) if self.hash.is_some() => {
                return Err(WriteError::NoIncumbent { path: place.asked().to_owned() }.into());
            }
            Err(Error::Path(PathError::FileMissing { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.compare(place, size, hash)?;
        Ok(Some(Incumbent { hash, size }))
    }

    fn look(&self, file: &VaultFile) -> Result<(u64, Option<ContentHash>), Error> {
        let look = file.hash(self.hash_cap)?;
        Ok((look.size, look.hash))
    }

    fn unreadable(&self, place: &Place) -> Result<(), Error> {
        if self.hash.is_none() && !self.required {
            return Ok(());
        }
        Err(WriteError::unreadable(place.asked()).into())
    }

    fn compare(&self, place: &Place, size: u64, found: Option<ContentHash>) -> Result<(), Error> {
        let path = place.asked().to_owned();
        let guarded = self.hash.is_some() || self.required;
        match (found, self.hash) {
            (None, _) if guarded && size > self.hash_cap => {
                Err(WriteError::over_hash_cap(&path, size, self.hash_cap).into())
            }
            (Some(found), None) if self.required => Err(WriteError::PreconditionRequired {
                path,
                current_hash: found.to_string(),
                current_size_in_bytes: size,
            }
            .into()),
            (Some(found), Some(wanted)) if found != wanted => Err(stale(place, found, size)),
            _ => Ok(()),
        }
    }
}

fn stale(place: &Place, found: ContentHash, size: u64) -> Error {
    WriteError::StalePrecondition {
        path: place.asked().to_owned(),
        current_hash: found.to_string(),
        current_size_in_bytes: size,
    }
    .into()
}
