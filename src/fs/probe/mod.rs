//! What the mounts of a vault can do, found out by trying, with the very calls of the write path.

mod names;
mod tries;

use std::os::fd::OwnedFd;

use rustix::io::Errno;

pub use tries::{Answer, Tries};

pub use super::{DurableReason, Guarantee};

use super::{
    Root,
    caps::{self, Ability, Mount},
    context::IoContext,
    displaced::sweep,
    errno_name,
    publish::sync,
    sys::{self, Space},
};
use crate::error::Error;

/// The most mounts below the root that are looked at.
const NESTED_MAX: usize = 16;

/// What one mount is and can do.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The path of the mount in the vault; empty for the one the root is on.
    pub at: String,
    /// `ext4`, `tmpfs`, `fuse.bindfs`, …; empty where `/proc` is not there.
    pub fs_type: String,
    /// `STATX_MNT_ID`.
    pub mount_id: u64,
    /// Nothing on it can be written.
    pub read_only: bool,
    /// What an ordinary user may still fill.
    pub free_bytes: u64,
    /// Other hosts may write to it: locks and leases are promises of this host alone.
    pub is_remote: bool,
    /// Paths are resolved by `openat2`, and not by the walk.
    pub openat2: bool,
    /// Names that differ only in case are one file; none where nothing tells.
    pub folds_case: Option<bool>,
    /// Both Unicode spellings of a name are one file.
    pub folds_unicode: Option<bool>,
    /// What was flushed survives a power cut, or why that is not known.
    pub durable: Result<(), DurableReason>,
    /// What only a write can tell.
    pub tries: Tries,
    /// Why nothing could be tried, where it should have been: the errno.
    pub obstacle: Option<String>,
    /// How a file is created.
    pub create: Tier,
    /// How a file is replaced.
    pub replace: Tier,
}

/// The way a write takes on a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// It was not tried.
    Unknown,
    /// Such writes are refused.
    Refused,
    /// The number of the tier, 1 being the best, and what it promises here.
    Reached(u8, Guarantee),
}

impl Root {
    /// Looks at the mount of the root and at those below it.
    ///
    /// With `write` it tries out what the write path uses, in a private dot-folder on each mount that is gone
    /// afterwards; without, nothing at all is changed, and what only a write can tell stays unknown.
    pub fn probe(&self, write: bool) -> Result<Vec<Facts>, Error> {
        let mut facts = vec![self.probe_mount(&self.dir.handle, "", write).at("probe", "")?];
        let below = caps::mounts_below(self.dir.canonical.as_path());
        let reachable = below.iter().filter(|path| !path.split('/').any(|name| name.starts_with('.')));
        for at in reachable.take(NESTED_MAX) {
            // A single file can be a mount too; what holds no folder holds no name to publish.
            let Ok(folder) = self.open_folder(at) else { continue };
            facts.push(self.probe_mount(&folder.dir, at, write).at("probe", at)?);
        }
        Ok(facts)
    }

    fn probe_mount(&self, dir: &OwnedFd, at: &str, write: bool) -> Result<Facts, Errno> {
        let stat = sys::stat(dir)?;
        let mount = self.mounts.of(&stat);
        let Space { read_only, free_bytes } = sys::space(dir)?;
        let (tries, obstacle) = if write { self.try_out(dir, &mount) } else { (Tries::default(), None) };
        Ok(Facts {
            at: at.to_owned(),
            fs_type: mount.facts.fs_type.clone(),
            mount_id: stat.mount,
            read_only,
            free_bytes,
            is_remote: mount.facts.is_remote(),
            openat2: self.has_openat2(),
            folds_case: names::fold_case(dir).or(tries.folds_case),
            folds_unicode: names::fold_unicode(dir).or(tries.folds_unicode),
            durable: sync::lasts(&mount.facts),
            create: self.create_tier(&mount, &tries),
            replace: self.replace_tier(&mount),
            tries,
            obstacle,
        })
    }

    fn try_out(&self, dir: &OwnedFd, mount: &Mount) -> (Tries, Option<String>) {
        sweep::sweep_folder(self, dir);
        match tries::run(dir, mount) {
            Ok(tries) => (tries, None),
            Err(errno) => (Tries::default(), Some(errno_name(errno))),
        }
    }

    fn create_tier(&self, mount: &Mount, tries: &Tries) -> Tier {
        let best = self.config.max_tier.0;
        match mount.unnamed.known().filter(|_| best == 1) {
            Some(true) if tries.link_form == Some("none") => return Tier::Refused,
            Some(true) => return reached(mount, 1, Guarantee::Linearizable),
            None if best == 1 => return Tier::Unknown,
            _ => {}
        }
        if !self.config.named_staging {
            return Tier::Refused;
        }
        let rungs =
            [(2, &mount.no_replace, Guarantee::Linearizable), (3, &mount.hard_link, Guarantee::Linearizable)];
        climb(mount, best, &rungs)
    }

    fn replace_tier(&self, mount: &Mount) -> Tier {
        let best = self.config.max_tier.1;
        if best == 1 && mount.exchange.known() == Some(true) && mount.lease.known() == Some(true) {
            return reached(mount, 1, Guarantee::Linearizable);
        }
        let rungs = [(2, &mount.exchange, Guarantee::Detecting), (3, &mount.hard_link, Guarantee::Detecting)];
        climb(mount, best, &rungs)
    }
}

/// The first rung of the ladder that the mount is known to have; the last one needs nothing.
fn climb(mount: &Mount, best: u8, rungs: &[(u8, &Ability, Guarantee)]) -> Tier {
    for (level, ability, guarantee) in rungs.iter().filter(|(level, ..)| *level >= best) {
        match ability.known() {
            Some(true) => return reached(mount, *level, *guarantee),
            Some(false) => {}
            None => return Tier::Unknown,
        }
    }
    reached(mount, 4, Guarantee::BestEffort)
}

fn reached(mount: &Mount, level: u8, guarantee: Guarantee) -> Tier {
    Tier::Reached(level, sync::kept(guarantee, &mount.facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::root::scratch;

    fn best() -> (Tier, Tier) {
        (Tier::Reached(1, Guarantee::Linearizable), Tier::Reached(1, Guarantee::Linearizable))
    }

    #[test]
    fn a_probe_reaches_the_tiers_and_leaves_nothing() {
        let (folder, root) = scratch();
        std::fs::write(folder.path().join("Note.md"), "n").unwrap();
        let [facts] = &root.probe(true).unwrap()[..] else { panic!("one mount") };
        assert_eq!((facts.create, facts.replace), best());
        assert_eq!((facts.folds_case, facts.folds_unicode), (Some(false), Some(false)));
        assert_eq!((facts.obstacle.as_deref(), facts.openat2, facts.at.as_str()), (None, true, ""));
        assert!(facts.tries.flush_micros.is_some() && facts.tries.clock_nanos.is_some());
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn without_writing_the_tiers_are_unknown() {
        let (folder, root) = scratch();
        let before = std::fs::metadata(folder.path()).unwrap();
        let [facts] = &root.probe(false).unwrap()[..] else { panic!("one mount") };
        assert_eq!((facts.create, facts.replace), (Tier::Unknown, Tier::Unknown));
        assert_eq!(facts.tries, Tries::default());
        let after = std::fs::metadata(folder.path()).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    }

    #[test]
    fn lowered_tiers_are_told_as_the_write_path_takes_them() {
        let (_folder, mut root) = scratch();
        for (lowered, create, replace) in [
            ((2, 2), Tier::Reached(2, Guarantee::Linearizable), Tier::Reached(2, Guarantee::Detecting)),
            ((3, 3), Tier::Reached(3, Guarantee::Linearizable), Tier::Reached(3, Guarantee::Detecting)),
            ((4, 4), Tier::Reached(4, Guarantee::BestEffort), Tier::Reached(4, Guarantee::BestEffort)),
        ] {
            root.config.max_tier = lowered;
            root.config.named_staging = true;
            let facts = root.probe(true).unwrap().remove(0);
            assert_eq!((facts.create, facts.replace), (create, replace), "{lowered:?}");
            root.config.named_staging = false;
            assert_eq!(root.probe(true).unwrap()[0].create, Tier::Refused);
        }
    }
}
