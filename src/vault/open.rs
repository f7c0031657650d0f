//! The opened vaults, found again by the identity of their folder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fs::{Identity, OpenDir, Root};

/// The most that are kept open.
const CAP: usize = 16;

/// Opened vaults, the least recently used first.
///
/// Identity is compared while the kept root holds its folder open, so no other folder can have it.
#[derive(Debug, Default)]
pub(super) struct OpenRoots(Mutex<Kept>);

type Kept = Vec<(Identity, Arc<Root>)>;

impl OpenRoots {
    /// The root kept for a freshly opened folder; else it is made of it and kept.
    pub(super) fn keep(&self, dir: OpenDir, root: impl FnOnce(OpenDir) -> Root) -> Arc<Root> {
        let identity = dir.identity;
        let mut kept = self.lock();
        if let Some(root) = use_again(&mut kept, identity) {
            return root;
        }
        drop(kept);
        // Making one may sweep what a dead process left; calls on other vaults do not wait for that.
        let made = Arc::new(root(dir));
        kept = self.lock();
        use_again(&mut kept, identity).unwrap_or_else(|| {
            make_room(&mut kept);
            kept.push((identity, Arc::clone(&made)));
            made
        })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kept root of that identity, which is now the most recently used.
fn use_again(kept: &mut Kept, identity: Identity) -> Option<Arc<Root>> {
    let place = kept.iter().position(|(known, _)| *known == identity)?;
    let used = kept.remove(place);
    let root = Arc::clone(&used.1);
    kept.push(used);
    Some(root)
}

/// The least recently used that no call holds goes first; when every one is held, the least recently used.
fn make_room(kept: &mut Kept) {
    if kept.len() >= CAP {
        let idle = kept.iter().position(|(_, root)| Arc::strong_count(root) == 1);
        kept.remove(idle.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::{FileConfig, testing::Disk};

    struct Folders {
        disk: Disk,
        open: OpenRoots,
    }

    impl Folders {
        fn new(count: usize) -> Self {
            let disk = Disk::with(&[]);
            for n in 0..count {
                disk.make(&n.to_string());
            }
            Self { disk, open: OpenRoots::default() }
        }

        fn dir(&self, name: &str) -> OpenDir {
            OpenDir::open(&self.disk.host(name)).unwrap()
        }

        fn open(&self, name: &str) -> Arc<Root> {
            let path = self.disk.host(name);
            let config = FileConfig::default().write_config();
            self.open.keep(self.dir(name), |dir| Root::new(dir, path, config))
        }

        fn kept(&self) -> Vec<Identity> {
            self.open.0.lock().unwrap().iter().map(|(identity, _)| *identity).collect()
        }
    }

    #[test]
    fn a_folder_is_opened_once_under_every_name() {
        let folders = Folders::new(1);
        folders.disk.link("link", "0");
        assert!(Arc::ptr_eq(&folders.open("0"), &folders.open("link")));
    }

    #[test]
    fn a_folder_made_anew_at_the_same_path_is_another() {
        let folders = Folders::new(1);
        let old = folders.open("0");
        folders.disk.remove("0");
        folders.disk.make("0");
        assert!(!Arc::ptr_eq(&old, &folders.open("0")));
    }

    #[test]
    fn the_least_recently_used_idle_one_goes_first() {
        let folders = Folders::new(CAP + 2);
        let held = folders.open("0");
        for n in (1..CAP).chain([1, CAP, CAP + 1]) {
            drop(folders.open(&n.to_string()));
        }
        let kept = folders.kept();
        assert_eq!(kept.len(), CAP);
        for (name, stays) in [(0, true), (1, true), (2, false), (3, false), (4, true)] {
            assert_eq!(kept.contains(&folders.dir(&name.to_string()).identity), stays, "{name}");
        }
        drop(held);
    }

    #[test]
    fn no_more_than_the_cap_are_kept_even_when_all_are_held() {
        let folders = Folders::new(CAP + 1);
        let held: Vec<_> = (0..=CAP).map(|n| folders.open(&n.to_string())).collect();
        assert_eq!(folders.kept().len(), CAP);
        assert!(!folders.kept().contains(&folders.dir("0").identity));
        drop(held);
    }
}
