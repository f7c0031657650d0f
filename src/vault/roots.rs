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
    use super::*;
    use crate::vault::testing::Disk;

    fn place(path: &str) -> Place {
        Place::look(&HostPath::parse(path).unwrap())
    }

    fn on(disk: &Disk, path: &str) -> Place {
        place(&disk.text(path))
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
        let disk = Disk::with(&[]);
        disk.link("link", "/etc");
        assert!(is_system(&on(&disk, "link")));
    }

    #[test]
    fn the_home_folder_and_what_holds_it_are_refused_in_every_spelling() {
        let disk = Disk::with(&["data/ann/Notes", "homes"]);
        disk.link("homes/ann", "data/ann");
        let home = on(&disk, "homes/ann");
        for path in ["homes/ann", "homes", "data", "data/ann", "homes/ann/Notes/..", ""] {
            assert!(holds_home(&on(&disk, path), &home), "{path}");
        }
        assert!(holds_home(&place("/"), &home));
        assert!(!holds_home(&on(&disk, "homes/ann/Notes"), &home));
    }

    #[test]
    fn a_dot_folder_is_refused_unless_obsidian_set_it_up() {
        let disk = Disk::with(&[".plain", ".vault/.obsidian"]);
        assert!(is_hidden(&on(&disk, ".plain"), None));
        assert!(!is_hidden(&on(&disk, ".vault"), None));
    }

    #[test]
    fn private_folders_of_the_home_folder_are_refused_with_all_they_hold() {
        let disk = Disk::with(&["home/.ssh", "home/.gnupg/x", "home/.config/notes/.obsidian"]);
        disk.link("link", "home/.config/notes");
        let home = on(&disk, "home");
        for path in ["home/.ssh", "home/.gnupg/x", "home/.config/notes", "link"] {
            assert!(is_hidden(&on(&disk, path), Some(&home)), "{path}");
        }
        assert!(!is_hidden(&on(&disk, "home"), Some(&home)));
    }

    #[test]
    fn relations_are_told_by_whole_names() {
        let disk = Disk::with(&["Work/Sub", "Work2"]);
        for (one, other, expected) in [
            ("Work/Sub", "Work", Some(VaultRelation::Inside)),
            ("", "Work", Some(VaultRelation::Contains)),
            ("Work2", "Work", None),
            ("Work", "Work/.", None),
        ] {
            assert_eq!(relation(&on(&disk, one), &on(&disk, other)), expected, "{one} {other}");
        }
    }
}
