//! Names in a folder that fit one that is not there.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::{
    super::{
        Root,
        context::IoContext,
        sys::{self, Stat},
    },
    folder::Folder,
};
use crate::{error::Error, path::VaultPath, text::fold::Folded};

/// The names on disk that a person would take for the one asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::fs) struct Twins {
    /// Equal in NFC.
    pub(in crate::fs) by_nfc: Vec<String>,
    /// Equal in NFC and full case folding, and not in `by_nfc`.
    pub(in crate::fs) by_case: Vec<String>,
}

/// Looks through a folder once for twins of a name; the name itself is none.
///
/// Names that are not UTF-8 are no twins of one that is.
pub(in crate::fs) fn twins(dir: &OwnedFd, name: &str) -> Result<Twins, Errno> {
    let wanted = Folded::new(name);
    let mut twins = Twins::default();
    let fresh = sys::open(dir, ".".as_ref(), rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY)?;
    sys::for_each_name(&fresh, |found, _| {
        let Ok(found) = found.to_str() else { return };
        if found == name || !wanted.matches(found) {
            return;
        }
        let list = if wanted.matches_nfc(found) { &mut twins.by_nfc } else { &mut twins.by_case };
        list.push(found.to_owned());
    })?;
    twins.by_nfc.sort();
    twins.by_case.sort();
    Ok(twins)
}

/// The folder has that very name, and does not merely answer to it.
pub(in crate::fs) fn lists(dir: &OwnedFd, name: &str) -> Result<bool, Errno> {
    let mut listed = false;
    let fresh = sys::open(dir, ".".as_ref(), rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY)?;
    sys::for_each_name(&fresh, |found, _| listed |= found.to_bytes() == name.as_bytes())?;
    Ok(listed)
}

impl Root {
    /// The folder may answer to names that it does not list.
    pub(super) fn folds_case(&self, folder: &Folder) -> bool {
        sys::stat(&folder.dir).is_ok_and(|stat| self.mounts.of(&stat).facts.folds_case())
    }

    /// The file system found something under a name that it does not list: it folds case, and this is a twin.
    pub(super) fn is_respelt(
        &self,
        folder: &Folder,
        name: &str,
        there: &Stat,
        path: &VaultPath,
    ) -> Result<bool, Error> {
        if !self.mounts.of(there).facts.folds_case() {
            return Ok(false);
        }
        lists(&folder.dir, name).map(|listed| !listed).at("list", path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;

    use super::*;

    #[test]
    fn twins_are_told_apart_by_how_they_differ() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["cafe\u{301}.md", "CAFÉ.md", "café.md", "other.md"] {
            std::fs::write(scratch.path().join(name), "").unwrap();
        }
        let dir = sys::open_path(scratch.path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        let twins = twins(&dir, "café.md").unwrap();
        assert_eq!(twins.by_nfc, ["cafe\u{301}.md"]);
        assert_eq!(twins.by_case, ["CAFÉ.md"]);
    }

    #[test]
    fn a_name_that_only_answers_is_not_listed() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("Note.md"), "").unwrap();
        let dir = sys::open_path(scratch.path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        assert!(lists(&dir, "Note.md").unwrap());
        assert!(sys::stat_at(&dir, "./Note.md".as_ref()).is_ok() && !lists(&dir, "./Note.md").unwrap());
    }
}
