//! Whether a folder takes two spellings of a name for one file, found out without a write.

use std::{ffi::OsStr, os::fd::OwnedFd};

use rustix::fs::OFlags;
use unicode_normalization::UnicodeNormalization;

use super::super::sys;

/// The folder takes names that differ only in case for one; none when no name in it can tell.
pub(super) fn fold_case(dir: &OwnedFd) -> Option<bool> {
    fold(dir, swap_case)
}

/// The folder takes the composed and the decomposed spelling of a name for one.
pub(super) fn fold_unicode(dir: &OwnedFd) -> Option<bool> {
    fold(dir, other_form)
}

/// Looks an existing name up under another spelling, under which nothing of its own stands.
fn fold(dir: &OwnedFd, respell: fn(&str) -> String) -> Option<bool> {
    let names = names(dir);
    names.iter().find_map(|name| {
        let other = respell(name);
        if other == *name || names.contains(&other) {
            return None;
        }
        let here = sys::stat_at(dir, OsStr::new(name)).ok()?;
        Some(sys::stat_at(dir, OsStr::new(&other)).is_ok_and(|there| there.is(&here)))
    })
}

fn names(dir: &OwnedFd) -> Vec<String> {
    let mut names = Vec::new();
    let listed = sys::open(dir, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY).and_then(|fresh| {
        sys::for_each_name(&fresh, |name, _| names.extend(name.to_str().ok().map(str::to_owned)))
    });
    if let Err(errno) = listed {
        tracing::debug!(?errno, "a folder could not be listed for its spelling of names");
    }
    names
}

fn swap_case(name: &str) -> String {
    let swapped = |letter: char| {
        if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    };
    name.chars().map(swapped).collect()
}

fn other_form(name: &str) -> String {
    let composed: String = name.nfc().collect();
    if composed == name { name.nfd().collect() } else { composed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_is_another_file_here() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = sys::open_path(scratch.path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        assert_eq!((fold_case(&dir), fold_unicode(&dir)), (None, None));
        for name in ["1", "b", "B", "café"] {
            std::fs::write(scratch.path().join(name), "").unwrap();
        }
        assert_eq!((fold_case(&dir), fold_unicode(&dir)), (Some(false), Some(false)));
    }

    #[test]
    fn a_spelling_that_leads_to_the_same_file_folds() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("a"), "").unwrap();
        let dir = sys::open_path(scratch.path().as_os_str(), OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        assert_eq!(fold(&dir, |name| format!("./{name}")), Some(true));
    }

    #[test]
    fn names_are_respelt() {
        assert_eq!(swap_case("Note é.md"), "nOTE é.MD");
        assert_eq!(other_form("é"), "e\u{301}");
        assert_eq!(other_form("e\u{301}"), "é");
    }
}
