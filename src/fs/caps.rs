//! What each mount can do, learnt from the first real operation that asks.
//!
//! No probe file is made: an operation's own errno sets the answer. Only answers that are facts about the file system
//! are kept; no space, permission and I/O errors are not.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use rustix::fs::CWD;
use rustix::io::Errno;

use super::sys;

/// One thing that a mount can or cannot do.
#[derive(Debug, Default)]
pub(crate) struct Ability(AtomicU8);

const YES: u8 = 1;
const NO: u8 = 2;

impl Ability {
    /// It is not known to be missing.
    pub(crate) fn worth_trying(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NO
    }

    /// The answer, where there is one.
    pub(crate) fn known(&self) -> Option<bool> {
        match self.0.load(Ordering::Relaxed) {
            YES => Some(true),
            NO => Some(false),
            _ => None,
        }
    }

    /// Keeps what an operation showed: success, or an errno that means "not here".
    pub(crate) fn learn<T>(&self, result: &Result<T, Errno>, unsupported: &[Errno]) {
        match result {
            Ok(_) => self.0.store(YES, Ordering::Relaxed),
            Err(errno) if unsupported.contains(errno) => self.0.store(NO, Ordering::Relaxed),
            Err(_) => {}
        }
    }
}

/// What one mount can do and is.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) unnamed: Ability,
    pub(crate) no_replace: Ability,
    pub(crate) exchange: Ability,
    pub(crate) hard_link: Ability,
    pub(crate) lease: Ability,
    /// Files can be staged in the dot-folder at the vault's root.
    pub(crate) stage_at_root: Ability,
    pub(crate) facts: MountFacts,
}

/// What the kernel's mount table says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MountFacts {
    /// `ext4`, `tmpfs`, `fuse.bindfs`, …; empty where `/proc` is not there.
    pub(crate) fs_type: String,
    pub(crate) options: String,
}

/// File systems with a journal, or one of copy-on-write, on which a flushed write survives a power cut.
const JOURNALED: &[&str] = &["ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs"];
const VOLATILE: &[&str] = &["tmpfs", "ramfs"];
/// How a mount table says of an overlay that it flushes nothing; newer kernels have the second spelling.
const VOLATILE_OVERLAY: &[&str] = &["volatile", "fsync=volatile"];
/// Locks and leases are promises of this host alone.
const REMOTE: &[&str] = &["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "afs"];
/// Two names that differ in case are one file.
const FOLDING: &[&str] = &["vfat", "msdos", "exfat", "ntfs3", "cifs", "smb3", "hfs", "hfsplus", "apfs"];

/// How a flushed write fares in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    Durable,
    Volatile,
    Unknown,
}

impl MountFacts {
    pub(crate) fn persistence(&self) -> Persistence {
        let kind = self.fs_type.as_str();
        let lasting_overlay = kind == "overlay" && !self.has_option(VOLATILE_OVERLAY);
        if JOURNALED.contains(&kind) || lasting_overlay {
            Persistence::Durable
        } else if VOLATILE.contains(&kind) {
            Persistence::Volatile
        } else {
            Persistence::Unknown
        }
    }

    fn has_option(&self, spellings: &[&str]) -> bool {
        self.options.split(',').any(|option| spellings.contains(&option))
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.fs_type.starts_with("fuse") || REMOTE.contains(&self.fs_type.as_str())
    }

    pub(crate) fn folds_case(&self) -> bool {
        FOLDING.contains(&self.fs_type.as_str())
    }
}

/// The mounts seen so far.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Mutex<HashMap<(u64, u64), Arc<Mount>>>);

impl Mounts {
    /// The mount that a file lies on.
    ///
    /// The kernel gives the id of a mount that is gone to the next one, so the device belongs to the key.
    pub(crate) fn of(&self, stat: &sys::Stat) -> Arc<Mount> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Mount::new(read_facts(stat.mount)));
        Arc::clone(seen.entry((stat.mount, stat.dev)).or_insert_with(new))
    }
}

#[cfg(test)]
impl Mounts {
    /// Takes a mount for one of that type.
    pub(crate) fn pretend(&self, stat: &sys::Stat, fs_type: &str) {
        let facts = MountFacts { fs_type: fs_type.to_owned(), options: String::new() };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((stat.mount, stat.dev), Arc::new(Mount::new(facts)));
    }
}

impl Mount {
    /// Keeps what a hard link showed: `EPERM` is an answer about one file, and `EIO` about the mount only where rclone
    /// and its like say "unsupported" so.
    pub(crate) fn learn_hard_link<T>(&self, linked: &Result<T, Errno>) {
        self.hard_link.learn(linked, &[Errno::OPNOTSUPP, Errno::NOSYS]);
        if self.facts.is_remote() {
            self.hard_link.learn(linked, &[Errno::IO]);
        }
    }

    fn new(facts: MountFacts) -> Self {
        Self {
            unnamed: Ability::default(),
            no_replace: Ability::default(),
            exchange: Ability::default(),
            hard_link: Ability::default(),
            lease: Ability::default(),
            stage_at_root: Ability::default(),
            facts,
        }
    }
}

fn read_facts(id: u64) -> MountFacts {
    let table = read_table().unwrap_or_default();
    parse_facts(&String::from_utf8_lossy(&table), id).unwrap_or_default()
}

/// The mounts below a folder of the host, as paths below it in the order they were made, each once.
pub(super) fn mounts_below(folder: &Path) -> Vec<String> {
    let table = read_table().unwrap_or_default();
    parse_below(&String::from_utf8_lossy(&table), folder)
}

fn parse_below(table: &str, folder: &Path) -> Vec<String> {
    let mut below: Vec<String> = Vec::new();
    for point in table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped) {
        let Some(path) = Path::new(&point).strip_prefix(folder).ok().and_then(Path::to_str) else { continue };
        if !path.is_empty() && !below.iter().any(|known| known == path) {
            below.push(path.to_owned());
        }
    }
    below
}

/// The table spells blanks and backslashes in three octal digits.
fn unescaped(field: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(field.to_owned(), |field, (code, letter)| field.replace(code, letter))
}

fn read_table() -> Result<Vec<u8>, Errno> {
    let table = sys::open(CWD, "/proc/self/mountinfo".as_ref(), rustix::fs::OFlags::RDONLY)?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match sys::read(&table, &mut buffer)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// One line of `proc_pid_mountinfo(5)`: id, parent, device, root, mount point, options, tags, `-`, type, source,
/// options of the file system.
fn parse_facts(table: &str, id: u64) -> Option<MountFacts> {
    let id = id.to_string();
    let line = table.lines().find(|line| line.split(' ').next() == Some(id.as_str()))?;
    let (_, tail) = line.split_once(" - ")?;
    let mut fields = tail.split(' ');
    Some(MountFacts {
        fs_type: fields.next()?.to_owned(),
        options: fields.nth(1).unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:25 / /dev/shm rw - tmpfs tmpfs rw,size=1k
31 22 0:26 / /o rw - overlay overlay rw,lowerdir=/a,volatile
32 22 0:27 / /f rw - fuse.bindfs /x rw
33 22 0:28 / /n rw - overlay overlay rw,lowerdir=/a,fsync=volatile
34 22 0:29 / /l rw - overlay overlay rw,lowerdir=/a
";

    #[test]
    fn the_mount_table_tells_type_and_options() {
        let facts = parse_facts(TABLE, 22).unwrap();
        assert_eq!((facts.fs_type.as_str(), facts.options.as_str()), ("ext4", "rw,discard"));
        assert_eq!(facts.persistence(), Persistence::Durable);
        assert_eq!(parse_facts(TABLE, 2), None);
    }

    #[test]
    fn what_a_power_cut_may_cost_follows_from_the_type() {
        let persistence = |id| parse_facts(TABLE, id).unwrap().persistence();
        assert_eq!(persistence(30), Persistence::Volatile);
        assert_eq!(persistence(31), Persistence::Unknown);
        assert_eq!(persistence(32), Persistence::Unknown);
        assert_eq!(persistence(33), Persistence::Unknown);
        assert_eq!(persistence(34), Persistence::Durable);
        assert!(parse_facts(TABLE, 32).unwrap().is_remote());
        assert!(!parse_facts(TABLE, 31).unwrap().is_remote());
    }

    #[test]
    fn mounts_below_a_folder_are_told_by_their_path_in_it() {
        let table = r"40 22 0:30 / /v rw - ext4 /dev/a rw
41 40 0:31 / /v/My\040Files rw - tmpfs t rw
42 41 0:32 / /v/My\040Files rw - tmpfs t rw
43 22 0:33 / /vault rw - tmpfs t rw
";
        assert_eq!(parse_below(table, Path::new("/v")), ["My Files"]);
    }

    #[test]
    fn only_answers_about_the_file_system_are_kept() {
        let ability = Ability::default();
        ability.learn::<()>(&Err(Errno::NOSPC), &[Errno::OPNOTSUPP]);
        assert_eq!(ability.known(), None);
        ability.learn::<()>(&Err(Errno::OPNOTSUPP), &[Errno::OPNOTSUPP]);
        assert!(!ability.worth_trying());
    }
}
