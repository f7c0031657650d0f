//! From a path to handles: which folder, which name on disk, what lies there.
//!
//! Nothing is opened by a string that was checked before: each step goes through a handle on the folder it stands in,
//! beneath the vault's root. No name outside the vault is ever reached, whatever is renamed or linked meanwhile.

mod folder;
mod names;
mod place;
mod walk;

pub(super) use place::handle;
pub use place::{OUTSIDE, Place};

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    time::{Duration, SystemTime},
};

use rustix::{fs::FileType, io::Errno};

use self::{
    folder::{Folder, Missed},
    place::absent_place,
};
use super::{
    Root,
    context::{IoContext, failure},
    sys::{self, Stat},
};
use crate::{
    error::{Error, LinkProblem, PathError, WriteError},
    path::VaultPath,
    text::fold,
};

/// What a path is looked up for; decides what a name that differs only in case means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Reading: a single case twin is the file, and is disclosed; a link that stays inside is followed.
    Read,
    /// Creating or replacing: a case twin is in the way.
    Create,
    /// Editing or deleting: a case twin is another file.
    Edit,
}

/// A name on disk, what lies there, and the settled stat of a folder whose names were looked through.
type Named = (String, Option<Stat>, Option<Stat>);

/// How often a path is looked up while folders on it come and go.
const LOOK_UPS: usize = 8;

impl Root {
    /// Looks a path up on disk: each folder on the way and the name, exactly first, then by NFC, then by case as
    /// `lookup` says.
    ///
    /// Nothing is made. A missing file is no error for [`Lookup::Create`]; missing folders are then noted.
    pub fn place(&self, path: &VaultPath, lookup: Lookup) -> Result<Place, Error> {
        let mut tries = 1..LOOK_UPS;
        loop {
            match self.place_once(path, lookup) {
                // A folder went away between two steps: the path may lead elsewhere, or nowhere, by now.
                Err(Error::Write(WriteError::ParentMoved { published: false, .. }))
                    if tries.next().is_some() => {}
                other => return other,
            }
        }
    }

    fn place_once(&self, path: &VaultPath, lookup: Lookup) -> Result<Place, Error> {
        let (folder, missing) = self.find_folder(path, lookup)?;
        if !missing.is_empty() {
            return absent_place(path, folder, &missing);
        }
        let (name, leaf, listed) = self.find_name(path, &folder, lookup)?;
        let found = VaultPath::found(&folder.spelled, &name);
        let place = Place { folder, missing, name, leaf, listed, path: found, requested: path.clone() };
        place.refuse_hidden()?;
        if lookup == Lookup::Read { self.follow(place) } else { Ok(place) }
    }

    /// The path behind every link on the way, whatever lies at its name; none where a folder on the way is not there.
    pub fn way(&self, path: &VaultPath, lookup: Lookup) -> Option<VaultPath> {
        let (folder, missing) = self.find_folder(path, lookup).ok()?;
        missing.is_empty().then(|| VaultPath::found(&folder.canonical, path.name()))
    }

    /// The deepest folder that exists on the way, and the names below it that do not.
    fn find_folder(&self, path: &VaultPath, lookup: Lookup) -> Result<(Folder, Vec<String>), Error> {
        match self.open_folder(path.parent()) {
            Ok(folder) if !self.folds_case(&folder) => Ok((folder, Vec::new())),
            Ok(_) | Err(Missed::Absent) => self.find_folder_by_name(path, lookup),
            Err(missed) => Err(self.missed(missed, path)),
        }
    }

    fn find_folder_by_name(&self, path: &VaultPath, lookup: Lookup) -> Result<(Folder, Vec<String>), Error> {
        let names: Vec<&str> = path.folders().collect();
        let mut folder = self.open_folder("").map_err(|missed| self.missed(missed, path))?;
        for (depth, name) in names.iter().enumerate() {
            let Some(found) = self.name_in(&folder, name, path, lookup)? else {
                if lookup != Lookup::Create {
                    return Err(missing_file(path, Vec::new()));
                }
                return Ok((folder, names[depth..].iter().map(|name| (*name).to_owned()).collect()));
            };
            let below = VaultPath::found(&folder.spelled, &found);
            folder = self.open_folder(below.as_str()).map_err(|missed| match missed {
                Missed::Absent => self.nothing_behind(&folder, &found, path),
                missed => self.missed(missed, path),
            })?;
        }
        Ok((folder, Vec::new()))
    }

    /// The name on disk of a folder on the way.
    fn name_in(
        &self,
        folder: &Folder,
        name: &str,
        path: &VaultPath,
        lookup: Lookup,
    ) -> Result<Option<String>, Error> {
        match sys::stat_at(&folder.dir, OsStr::new(name)) {
            Ok(there) if !self.is_respelt(folder, name, &there, path)? => return Ok(Some(name.to_owned())),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failure(errno, "look up", path.as_str())),
        }
        let twins = list_twins(folder, name, path)?;
        self.choose(&twins, folder, path, lookup)
    }

    /// A name was there, but no folder behind it: a dangling link, below which nothing can be made, or a folder that
    /// went away in this instant.
    fn nothing_behind(&self, folder: &Folder, name: &str, path: &VaultPath) -> Error {
        if sys::stat_at(&folder.dir, OsStr::new(name)).is_ok_and(|there| there.kind == FileType::Symlink) {
            return not_a_folder(path, VaultPath::found(&folder.spelled, name).as_str());
        }
        self.missed(Missed::Moved, path)
    }

    /// Of the names that fit without being equal: the one that is meant, or why none is.
    fn choose(
        &self,
        twins: &names::Twins,
        folder: &Folder,
        path: &VaultPath,
        lookup: Lookup,
    ) -> Result<Option<String>, Error> {
        let full = |name: &String| VaultPath::found(&folder.spelled, name).as_str().to_owned();
        let several = |names: &[String]| PathError::AmbiguousPath {
            path: path.as_str().to_owned(),
            candidates: names.iter().map(full).collect(),
        };
        match (twins.by_nfc.as_slice(), twins.by_case.as_slice()) {
            ([one], _) => Ok(Some(one.clone())),
            ([_, _, ..], _) => Err(several(&twins.by_nfc).into()),
            ([], []) => Ok(None),
            ([], [one]) if lookup == Lookup::Read => Ok(Some(one.clone())),
            ([], many) if lookup == Lookup::Read => Err(several(many).into()),
            ([], many) if lookup == Lookup::Edit => Err(missing_file(path, many.iter().map(full).collect())),
            ([], many) => self.refuse_variant(path, many, full),
        }
    }

    fn refuse_variant(
        &self,
        path: &VaultPath,
        twins: &[String],
        full: impl Fn(&String) -> String,
    ) -> Result<Option<String>, Error> {
        if self.config.case_variants {
            return Ok(None);
        }
        let existing_path = if let [one] = twins { Some(full(one)) } else { None };
        Err(PathError::CaseVariantExists { path: path.as_str().to_owned(), existing_path }.into())
    }

    /// The name on disk, what lies there, and the folder's stat from before its names were looked through.
    fn find_name(&self, path: &VaultPath, folder: &Folder, lookup: Lookup) -> Result<Named, Error> {
        match sys::stat_at(&folder.dir, OsStr::new(path.name())) {
            Ok(leaf) if !self.is_respelt(folder, path.name(), &leaf, path)? => {
                return Ok((path.name().to_owned(), Some(leaf), None));
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failure(errno, "look up", path.as_str())),
        }
        let listed = if lookup == Lookup::Create { settled(&folder.dir) } else { None };
        let twins = list_twins(folder, path.name(), path)?;
        match self.choose(&twins, folder, path, lookup)? {
            Some(name) => {
                let leaf = sys::stat_at(&folder.dir, OsStr::new(&name)).at("look up", path.as_str())?;
                Ok((name, Some(leaf), None))
            }
            None if lookup == Lookup::Create => Ok((fold::nfc(path.name()).into_owned(), None, listed)),
            None => Err(missing_file(path, Vec::new())),
        }
    }

    /// Refuses a place whose name has come to have a twin.
    pub(super) fn refuse_twins(&self, dir: &OwnedFd, place: &Place) -> Result<(), Error> {
        let twins = names::twins(dir, &place.name).at("list", place.asked())?;
        let parent = place.path.parent();
        let full = |name: &String| VaultPath::found(parent, name).as_str().to_owned();
        match (twins.by_nfc.first(), twins.by_case.as_slice()) {
            (Some(same), _) => Err(WriteError::FileExists {
                path: place.asked().to_owned(),
                existing_path: full(same),
                current_hash: None,
                size_in_bytes: sys::stat_at(dir, OsStr::new(same)).map_or(0, |stat| stat.size),
            }
            .into()),
            (None, []) => Ok(()),
            (None, many) => self.refuse_variant(&place.requested, many, full).map(drop),
        }
    }

    /// A final link that is read leads to its target, as long as that lies in the vault.
    fn follow(&self, place: Place) -> Result<Place, Error> {
        if place.leaf.is_none_or(|leaf| leaf.kind != FileType::Symlink) {
            return Ok(place);
        }
        let (folder, name) = self
            .walk_to_file(&place.folder.canonical, &place.name)
            .map_err(|missed| self.missed(missed, &place.requested))?;
        let leaf = match sys::stat_at(&folder.dir, &name) {
            Ok(leaf) => leaf,
            Err(Errno::NOENT) => return Err(missing_file(&place.requested, Vec::new())),
            Err(errno) => return Err(failure(errno, "look up", place.asked())),
        };
        let name = name.to_string_lossy().into_owned();
        let followed = Place { folder, name, leaf: Some(leaf), ..place };
        followed.refuse_hidden()?;
        Ok(followed)
    }

    /// The reason for a folder that could not be opened.
    fn missed(&self, missed: Missed, path: &VaultPath) -> Error {
        let asked = path.as_str().to_owned();
        match missed {
            Missed::Absent => missing_file(path, Vec::new()),
            Missed::NotADirectory => not_a_folder(path, &self.file_on_the_way(path)),
            Missed::Escapes => {
                PathError::SymlinkEscapes { path: asked, problem: LinkProblem::Outside }.into()
            }
            Missed::Loops => PathError::SymlinkEscapes { path: asked, problem: LinkProblem::Loop }.into(),
            Missed::Moved => WriteError::ParentMoved { path: asked, published: false }.into(),
            Missed::Failed(errno) => failure(errno, "open folder", &asked),
        }
    }

    /// The first thing on the way that is not a folder.
    fn file_on_the_way(&self, path: &VaultPath) -> String {
        let mut way = String::new();
        for name in path.folders() {
            VaultPath::found(&way, name).as_str().clone_into(&mut way);
            if matches!(self.open_folder(&way), Err(Missed::NotADirectory)) {
                break;
            }
        }
        way
    }
}

/// Twins of a name; a folder that was removed meanwhile answers `ENOENT`.
fn list_twins(folder: &Folder, name: &str, path: &VaultPath) -> Result<names::Twins, Error> {
    names::twins(&folder.dir, name).map_err(|errno| match errno {
        Errno::NOENT => WriteError::ParentMoved { path: path.as_str().to_owned(), published: false }.into(),
        errno => failure(errno, "list", path.as_str()),
    })
}

fn not_a_folder(path: &VaultPath, existing: &str) -> Error {
    PathError::NotADirectory { path: path.as_str().to_owned(), existing_path: existing.to_owned() }.into()
}

/// A folder's times that are this close to now cannot tell a change that comes next.
const RACY: Duration = Duration::from_millis(10);

/// The folder's stat, when its times are old enough to tell a later change by.
fn settled(dir: &OwnedFd) -> Option<Stat> {
    let stat = sys::stat(dir).ok()?;
    let (seconds, nanos) = stat.ctime.max(stat.mtime);
    let changed = SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(seconds).ok()?, nanos);
    SystemTime::now().duration_since(changed).is_ok_and(|age| age > RACY).then_some(stat)
}

pub(super) fn missing_file(path: &VaultPath, suggestions: Vec<String>) -> Error {
    PathError::FileMissing { path: path.as_str().to_owned(), suggestions }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::root::scratch;

    #[test]
    fn where_case_folds_a_name_is_found_as_it_is_listed() {
        let (folder, root) = scratch();
        std::fs::create_dir(folder.path().join("Notes")).unwrap();
        std::fs::write(folder.path().join("Notes/Note.md"), "n").unwrap();
        root.mounts.pretend(&sys::stat(&root.dir.handle).unwrap(), "vfat");
        let place = |path, lookup| root.place(&VaultPath::parse(path).unwrap(), lookup);
        let listed = place("Notes/Note.md", Lookup::Create).unwrap();
        assert!(listed.exists() && listed.requested().is_none());
        assert_eq!(place("notes/note.md", Lookup::Read).unwrap().path().as_str(), "Notes/Note.md");
        assert_eq!(place("notes/note.md", Lookup::Create).unwrap_err().name(), "case_variant_exists");
        assert_eq!(place("Notes/note.md", Lookup::Edit).unwrap_err().name(), "file_missing");
        assert!(!place("Notes/New.md", Lookup::Create).unwrap().exists());
    }

    #[test]
    fn where_case_folds_a_hit_under_a_name_that_is_not_listed_is_a_twin() {
        let (folder, root) = scratch();
        std::fs::write(folder.path().join("Note.md"), "n").unwrap();
        let open = root.open_folder("").unwrap();
        let there = sys::stat_at(&open.dir, OsStr::new("./Note.md")).unwrap();
        let path = VaultPath::parse("Note.md").unwrap();
        let respelt = |name| root.is_respelt(&open, name, &there, &path).unwrap();
        assert!(!respelt("./Note.md"));
        root.mounts.pretend(&there, "vfat");
        assert!(respelt("./Note.md") && !respelt("Note.md"));
    }
}
