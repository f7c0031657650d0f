//! Power cuts: the disk under a vault is cut off at many points of its log of writes, and each disk that a cut may
//! leave is mounted and looked at.

mod daemon;
mod disk;
mod log;

use std::{collections::BTreeMap, fs::File, path::Path, time::Instant};

use vaultwright::{
    fs::{Expect, Root},
    text::ContentHash,
};

use crate::{
    bench_vault::{config, names, open, write},
    lab::{BTRFS, EXT4, Format, Mounted, XFS},
    need::{self, need},
    sealed::{seal, unseal},
    seeded::Seeded,
};
use daemon::Daemon;
use disk::{Disk, Pending, Replay};
use log::Entry;

const SEED: &str = "POWERCUT_SEED";
/// Cut points of each run; every one gives three disks.
const POINTS: &str = "POWERCUT_POINTS";
const OPERATIONS: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Create,
    Replace,
}

/// A run: what is written, how, and how many points of it are cut.
#[derive(Clone, Copy, Debug)]
struct Run {
    format: Format,
    mode: Mode,
    flush: Flush,
    points: u64,
}

/// What is flushed before a write counts as acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// As the product does at full durability.
    All,
    /// A control: the names without the bytes.
    Names,
    /// A control.
    Nothing,
}

/// A write that was reported as durable.
#[derive(Debug)]
struct Acknowledged {
    name: String,
    version: u64,
    /// How many entries the log held by then.
    position: usize,
}

/// What the disks after the cuts held.
#[derive(Debug, Default)]
struct Findings {
    disks: usize,
    torn: Vec<String>,
    lost: Vec<String>,
    acknowledged: usize,
    recovered: usize,
}

macro_rules! power_cuts {
    ($($test:ident: $format:expr, $mode:ident, $points:expr;)+) => {
        $(#[test]
        fn $test() {
            need!(root, loop_device, fuse, tool "qemu-storage-daemon");
            let points = asked_points().unwrap_or($points);
            let run = Run { format: $format, mode: Mode::$mode, flush: Flush::All, points };
            if let Some(found) = cut(run, need::test_name!()) {
                assert_eq!((&found.torn, &found.lost), (&vec![], &vec![]), "{run:?}");
                assert!(found.acknowledged > 0, "no cut came after an acknowledged write");
            }
        })+
    };
}

power_cuts! {
    a_power_cut_on_ext4_costs_no_acknowledged_creation: EXT4, Create, 30;
    a_power_cut_on_ext4_costs_no_acknowledged_replacement: EXT4, Replace, 30;
    a_power_cut_on_xfs_costs_no_acknowledged_creation: XFS, Create, 5;
    a_power_cut_on_xfs_costs_no_acknowledged_replacement: XFS, Replace, 5;
    a_power_cut_on_btrfs_costs_no_acknowledged_creation: BTRFS, Create, 5;
    a_power_cut_on_btrfs_costs_no_acknowledged_replacement: BTRFS, Replace, 5;
}

macro_rules! controls {
    ($($test:ident: $mode:ident, $flush:ident, $harm:ident;)+) => {
        $(#[test]
        fn $test() {
            need!(root, loop_device, fuse, tool "qemu-storage-daemon", tool "mkfs.ext4");
            let run = Run { format: EXT4, mode: Mode::$mode, flush: Flush::$flush, points: 8 };
            if let Some(found) = cut(run, need::test_name!()) {
                assert!(!found.$harm.is_empty(), "the checker is blind: {run:?}");
            }
        })+
    };
}

controls! {
    control_a_link_of_unflushed_bytes_tears: Create, Names, torn;
    control_an_exchange_of_unflushed_bytes_tears: Replace, Names, torn;
    control_a_creation_that_flushes_nothing_is_lost: Create, Nothing, lost;
    control_a_replacement_that_flushes_nothing_is_lost: Replace, Nothing, lost;
}

fn asked_points() -> Option<u64> {
    std::env::var(POINTS).ok().map(|points| points.parse().unwrap())
}

/// Does the whole of a run; none where the kernel does not know the file system.
fn cut(run: Run, test: &str) -> Option<Findings> {
    if !need::has(test, "tool", &format!("mkfs.{}", run.format.kind)) {
        return None;
    }
    let start = Instant::now();
    let scratch = tempfile::tempdir().unwrap();
    let mut random = Seeded::from_variable(SEED);
    let image = scratch.path().join("image");
    run.format.make(&image);
    if let Err(refused) = prepare(run, &image, &scratch.path().join("mnt")) {
        assert!(run.format.kind != "ext4" || !need::all_required(), "{refused}");
        need::skipped(test, &refused);
        return None;
    }
    let base = Disk::load(&image);
    let (first, acknowledged, log) = record(run, scratch.path());
    let found = check(run, scratch.path(), &acknowledged, Cuts { base, log: &log, first }, &mut random);
    need::say(&format!(
        "{test}: {} disks, {} torn, {} lost of {} acknowledged looked for, {} kept by the sweep, {} entries, {:?}",
        found.disks,
        found.torn.len(),
        found.lost.len(),
        found.acknowledged,
        found.recovered,
        log.len(),
        start.elapsed()
    ));
    Some(found)
}

const INCUMBENTS: [&str; 3] = ["a.md", "b.md", "folder/c.md"];

/// The vault before the first write, on a disk that is then unmounted.
fn prepare(run: Run, image: &Path, point: &Path) -> Result<(), String> {
    std::fs::create_dir(point).unwrap();
    let mounted = run.format.mount_image(image, point)?;
    std::fs::create_dir_all(point.join("vault/folder")).unwrap();
    if run.mode == Mode::Replace {
        for name in INCUMBENTS {
            std::fs::write(point.join("vault").join(name), seal(name, 0, 3000)).unwrap();
        }
    }
    mounted.unmount();
    Ok(())
}

/// Writes to the vault on a logged disk: the log's length before the first write, the acknowledged writes, the log.
fn record(run: Run, scratch: &Path) -> (usize, Vec<Acknowledged>, Vec<Entry>) {
    let daemon = Daemon::start(scratch, &scratch.join("image"));
    let looped = daemon.attach();
    let mounted = run.format.mount(looped.device(), &scratch.join("mnt")).unwrap();
    let log = daemon.log();
    let first = log::count(&log);
    let acknowledged = act(run, mounted.point(), scratch, &log);
    mounted.unmount();
    drop(looped);
    (first, acknowledged, daemon.finish())
}

fn act(run: Run, mounted: &Path, scratch: &Path, log: &File) -> Vec<Acknowledged> {
    let mut config = config(&scratch.join("state"));
    config.durable = run.flush == Flush::All;
    let vault = mounted.join("vault");
    let root = open(&vault, config);
    let there_before = names(&vault).into_iter().filter(|name| !name.ends_with('/'));
    let mut acknowledged: Vec<_> =
        there_before.map(|name| Acknowledged { name, version: 0, position: 0 }).collect();
    acknowledged.extend((1..=OPERATIONS).map(|number| {
        let (name, version) = operate(run, &root, number);
        if run.flush == Flush::Names {
            let folder = File::open(vault.join(&name).parent().unwrap()).unwrap();
            folder.sync_all().unwrap();
        }
        Acknowledged { name, version, position: log::count(log) }
    }));
    acknowledged
}

/// The write of that number; sizes from one to forty blocks, some in folders that come with the file.
fn operate(run: Run, root: &Root, number: u64) -> (String, u64) {
    let size = if number.is_multiple_of(7) { 160_000 } else { 500 * usize::try_from(number).unwrap() };
    let (name, expect) = match run.mode {
        Mode::Create if number.is_multiple_of(5) => (format!("new-{number}/deep/n.md"), Expect::Absent),
        Mode::Create => (format!("folder/n-{number}.md"), Expect::Absent),
        Mode::Replace => {
            let name = INCUMBENTS[usize::try_from(number).unwrap() % INCUMBENTS.len()];
            (name.to_owned(), Expect::Hash(hash_there(root, name)))
        }
    };
    let written = write(root, &name, &seal(&name, number, size), expect).unwrap();
    if run.flush == Flush::All {
        assert_eq!(written.durable, Some(Ok(())), "{written:?}");
    }
    (name, number)
}

fn hash_there(root: &Root, name: &str) -> ContentHash {
    let path = vaultwright::path::VaultPath::parse(name).unwrap();
    let place = root.place(&path, vaultwright::fs::Lookup::Read).unwrap();
    root.open_file(&place).unwrap().hash(u64::MAX).unwrap().hash.unwrap()
}

/// Where a log is cut.
struct Cuts<'log> {
    base: Disk,
    log: &'log [Entry],
    first: usize,
}

fn check(
    run: Run,
    scratch: &Path,
    acknowledged: &[Acknowledged],
    cuts: Cuts<'_>,
    random: &mut Seeded,
) -> Findings {
    let mut points: Vec<usize> = (0..run.points)
        .map(|_| usize::try_from(random.within(cuts.first as u64, cuts.log.len() as u64)).unwrap())
        .collect();
    points.sort_unstable();
    let mut replay = Replay::new(cuts.base, cuts.log);
    let mut found = Findings::default();
    for point in points {
        replay.advance(point);
        for pending in [Pending::All, Pending::Half, Pending::None] {
            let what = format!("{:?} {:?} cut at {point} with {pending:?}", run.format.kind, run.mode);
            replay.cut(pending, random).store(&scratch.join("image"));
            let due: Vec<_> = acknowledged.iter().filter(|write| write.position <= point).collect();
            look(run, scratch, &due, &what, &mut found);
        }
    }
    found
}

/// Mounts a disk as a cut left it, opens the vault as after a restart, and looks at every name.
fn look(run: Run, scratch: &Path, due: &[&Acknowledged], what: &str, found: &mut Findings) {
    let mounted = run
        .format
        .mount_image(&scratch.join("image"), &scratch.join("mnt"))
        .unwrap_or_else(|error| panic!("{what}: does not mount: {error}"));
    found.disks += 1;
    let vault = mounted.point().join("vault");
    let state = scratch.join(format!("state-{}", found.disks));
    drop(open(&vault, config(&state)));
    let versions = versions(&vault, what, found);
    if run.flush != Flush::Names {
        found.acknowledged += due.len();
        found.lost.extend(due.iter().filter(|write| is_lost(write, &versions)).map(|write| {
            format!("{what}: {} {} acknowledged at {}", write.name, write.version, write.position)
        }));
    }
    if state.exists() {
        found.recovered += names(&state).iter().filter(|name| name.ends_with("/content")).count();
    }
    Mounted::unmount(mounted);
}

fn is_lost(write: &Acknowledged, versions: &BTreeMap<String, u64>) -> bool {
    versions.get(&write.name).is_none_or(|version| *version < write.version)
}

fn is_of_the_run(name: &str) -> bool {
    let shallow = name.starts_with("folder/n-") && name.matches('/').count() == 1;
    INCUMBENTS.contains(&name) || shallow || (name.starts_with("new-") && name.ends_with("/deep/n.md"))
}

/// The version of each whole file; the torn ones go to the findings, and a name that is not of the run ends the test.
fn versions(vault: &Path, what: &str, found: &mut Findings) -> BTreeMap<String, u64> {
    let names = names(vault);
    let dotted = names.iter().find(|name| name.starts_with('.') || name.contains("/."));
    assert_eq!(dotted, None, "{what}: not swept");
    let mut versions = BTreeMap::new();
    for name in names.into_iter().filter(|name| !name.ends_with('/')) {
        assert!(is_of_the_run(&name), "{what}: stray {name}");
        let bytes = std::fs::read(vault.join(&name)).unwrap();
        match unseal(&bytes) {
            Some(seal) => {
                assert_eq!(seal.name, name, "{what}");
                versions.insert(name, seal.version);
            }
            None => found.torn.push(format!("{what}: {name}, {} bytes", bytes.len())),
        }
    }
    versions
}
