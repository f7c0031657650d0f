//! The opened vaults, found again by the identity of their folder.

use std::sync::{Arc, Mutex, PoisonError};

use crate::fs::{Identity, OpenDir, Root};

/// The most that are kept open.
const CAP: usize = 16;

/// Opened vaults, the least recently used first.
///
/// Identity is compared while the kept root holds its folder open, so no other folder can have it.
#[derive(Debug, Default)]
pub(super) struct OpenRoots(Mutex<Vec<(Identity, Arc<Root>)>>);

impl OpenRoots {
    /// The root kept for a freshly opened folder; else it is made of it and kept.
    pub(super) fn keep(&self, dir: OpenDir, root: impl FnOnce(OpenDir) -> Root) -> Arc<Root> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = dir.identity;
        let root = match kept.iter().position(|(known, _)| *known == identity) {
            Some(place) => kept.remove(place).1,
            None => Arc::new(root(dir)),
        };
        make_room(&mut kept);
        kept.push((identity, Arc::clone(&root)));
        root
    }
}

/// The least recently used that no call holds goes first; when every one is held, the least recently used.
fn make_room(kept: &mut Vec<(Identity, Arc<Root>)>) {
    if kept.len() >= CAP {
        let idle = kept.iter().position(|(_, root)| Arc::strong_count(root) == 1);
        kept.remove(idle.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{fs::HostPath, vault::FileConfig};

    struct Folders {
        scratch: tempfile::TempDir,
        open: OpenRoots,
    }

    impl Folders {
        fn new(count: usize) -> Self {
            let scratch = tempfile::tempdir().unwrap();
            for n in 0..count {
                std::fs::create_dir(scratch.path().join(n.to_string())).unwrap();
            }
            Self { scratch, open: OpenRoots::default() }
        }

        fn open(&self, name: impl ToString) -> Arc<Root> {
            let path = HostPath::parse(self.scratch.path().join(name.to_string())).unwrap();
            let config = FileConfig::default().write_config();
            self.open.keep(OpenDir::open(&path).unwrap(), |dir| Root::new(dir, path, config))
        }

        fn kept(&self) -> Vec<Identity> {
            self.open.0.lock().unwrap().iter().map(|(identity, _)| *identity).collect()
        }

        fn identity(&self, name: impl ToString) -> Identity {
            let path = HostPath::parse(self.scratch.path().join(name.to_string())).unwrap();
            OpenDir::open(&path).unwrap().identity
        }
    }

    #[test]
    fn a_folder_is_opened_once_under_every_name() {
        let folders = Folders::new(1);
        symlink(folders.scratch.path().join("0"), folders.scratch.path().join("link")).unwrap();
        assert!(Arc::ptr_eq(&folders.open(0), &folders.open("link")));
    }

    #[test]
    fn a_folder_made_anew_at_the_same_path_is_another() {
        let folders = Folders::new(1);
        let old = folders.open(0);
        std::fs::remove_dir(folders.scratch.path().join("0")).unwrap();
        std::fs::create_dir(folders.scratch.path().join("0")).unwrap();
        assert!(!Arc::ptr_eq(&old, &folders.open(0)));
    }

    #[test]
    fn the_least_recently_used_idle_one_goes_first() {
        let folders = Folders::new(CAP + 2);
        let held = folders.open(0);
        (1..CAP).for_each(|n| drop(folders.open(n)));
        drop(folders.open(1));
        drop(folders.open(CAP));
        drop(folders.open(CAP + 1));
        let kept = folders.kept();
        assert_eq!(kept.len(), CAP);
        for (name, stays) in [(0, true), (1, true), (2, false), (3, false), (4, true)] {
            assert_eq!(kept.contains(&folders.identity(name)), stays, "{name}");
        }
        drop(held);
    }

    #[test]
    fn no_more_than_the_cap_are_kept_even_when_all_are_held() {
        let folders = Folders::new(CAP + 1);
        let held: Vec<_> = (0..=CAP).map(|n| folders.open(n)).collect();
        assert_eq!(folders.kept().len(), CAP);
        assert!(!folders.kept().contains(&folders.identity(0)));
        drop(held);
    }
}
