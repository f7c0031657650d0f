//! Folders that are not served as vaults unless the operator configured them.

use super::place::Place;
use crate::{error::VaultRelation, fs::HostPath};

/// System folders that are no vaults themselves; `/lib` and its kin are told by their prefix.
const SYSTEM: [&str; 12] =
    ["/", "/proc", "/sys", "/dev", "/run", "/etc", "/boot", "/usr", "/bin", "/sbin", "/var", "/lib"];
/// System folders below which nothing is a vault either.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Folders of the home folder that hold secrets or settings, whole.
const PRIVATE: [&str; 3] = [".ssh", ".gnupg", ".config"];

/// The folder belongs to the system, by its given or its real path.
pub(super) fn is_system(place: &Place) -> bool {
    place.spellings().into_iter().any(|path| {
        let path = path.as_path();
        let is_library = path.parent().is_some_and(|parent| parent.as_os_str() == "/")
            && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"lib"));
        is_library
            || SYSTEM.iter().any(|system| path.as_os_str() == *system)
            || KERNEL.iter().any(|kernel| path.starts_with(kernel))
    })
}

/// The folder is the home folder or holds it.
pub(super) fn holds_home(place: &Place, home: &Place) -> bool {
    let spellings = home.spellings();
    place.is(home) || place.spellings().iter().any(|path| spellings.iter().any(|home| home.is_within(path)))
}

/// The folder is a dot-folder that Obsidian has not set up, or holds secrets or settings.
pub(super) fn is_hidden(place: &Place, home: Option<&Place>) -> bool {
    let has_dot = |path: &HostPath| path.name().starts_with('.');
    let is_private = |home: &Place| PRIVATE.iter().any(|name| lies_within(place, home, name));
    place.spellings().into_iter().any(has_dot) && !place.is_initialized() || home.is_some_and(is_private)
}

fn lies_within(place: &Place, home: &Place, name: &str) -> bool {
    let private = Place::look(&home.path.join(name));
    place.is(&private)
        || place
            .spellings()
            .iter()
            .any(|path| private.spellings().iter().any(|folder| path.is_within(folder)))
}

/// How two different folders lie to each other, when one holds the other.
pub(super) fn relation(place: &Place, other: &Place) -> Option<VaultRelation> {
    if place.is_inside(other) {
        Some(VaultRelation::Inside)
    } else if other.is_inside(place) {
        Some(VaultRelation::Contains)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn place(path: impl AsRef<std::path::Path>) -> Place {
        Place::look(&HostPath::parse(path).unwrap())
    }

    #[test]
    fn folders_of_the_system_are_refused_but_most_of_what_they_hold_is_not() {
        for path in ["/", "/proc", "/sys", "/dev", "/run", "/etc", "/boot", "/usr", "/bin", "/sbin", "/var"] {
            assert!(is_system(&place(path)), "{path}");
        }
        for path in ["/lib", "/lib64", "/libx32", "/proc/self", "/dev/shm", "/sys/fs", "/etc/", "/var/../etc"]
        {
            assert!(is_system(&place(path)), "{path}");
        }
        for path in
            ["/var/lib/notes", "/usr/share/notes", "/library/../srv", "/home", "/devices", "/etcetera"]
        {
            assert!(!is_system(&place(path)), "{path}");
        }
    }

    #[test]
    fn a_link_to_a_system_folder_is_one() {
        let scratch = tempfile::tempdir().unwrap();
        symlink("/etc", scratch.path().join("link")).unwrap();
        assert!(is_system(&place(scratch.path().join("link"))));
    }

    #[test]
    fn the_home_folder_and_what_holds_it_are_refused_in_every_spelling() {
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().join("data/ann");
        fs::create_dir_all(real.join("Notes")).unwrap();
        fs::create_dir(scratch.path().join("home")).unwrap();
        symlink(&real, scratch.path().join("home/ann")).unwrap();
        let home = place(scratch.path().join("home/ann"));
        for below in ["home/ann", "home", "data", "data/ann", "home/ann/Notes/.."] {
            assert!(holds_home(&place(scratch.path().join(below)), &home), "{below}");
        }
        assert!(holds_home(&place("/"), &home));
        assert!(!holds_home(&place(scratch.path().join("home/ann/Notes")), &home));
    }

    #[test]
    fn a_dot_folder_is_refused_unless_obsidian_set_it_up() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir_all(scratch.path().join(".plain")).unwrap();
        fs::create_dir_all(scratch.path().join(".vault/.obsidian")).unwrap();
        assert!(is_hidden(&place(scratch.path().join(".plain")), None));
        assert!(!is_hidden(&place(scratch.path().join(".vault")), None));
    }

    #[test]
    fn private_folders_of_the_home_folder_are_refused_with_all_they_hold() {
        let scratch = tempfile::tempdir().unwrap();
        let home = place(scratch.path());
        for below in [".ssh", ".gnupg/x", ".config/notes/.obsidian"] {
            fs::create_dir_all(scratch.path().join(below)).unwrap();
            assert!(is_hidden(&place(scratch.path().join(below)), Some(&home)), "{below}");
        }
        assert!(is_hidden(&place(scratch.path().join(".config/notes")), Some(&home)));
        symlink(scratch.path().join(".config/notes"), scratch.path().join("link")).unwrap();
        assert!(is_hidden(&place(scratch.path().join("link")), Some(&home)));
    }

    #[test]
    fn relations_are_told_by_whole_names() {
        let scratch = tempfile::tempdir().unwrap();
        for below in ["Work/Sub", "Work2"] {
            fs::create_dir_all(scratch.path().join(below)).unwrap();
        }
        let below = |name: &str| place(scratch.path().join(name));
        assert_eq!(relation(&below("Work/Sub"), &below("Work")), Some(VaultRelation::Inside));
        assert_eq!(relation(&below(""), &below("Work")), Some(VaultRelation::Contains));
        assert_eq!(relation(&below("Work2"), &below("Work")), None);
        assert_eq!(relation(&below("Work"), &below("Work/.")), None);
    }
}
