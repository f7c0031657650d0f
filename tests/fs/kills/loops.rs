//! Kill loops: a process that writes on and on is killed at some instant, many times.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use vaultwright::{fs::Expect, text::ContentHash};

use super::Bench;
use crate::{
    bench_vault::{config, open, write},
    need,
    sealed::{seal, unseal},
    seeded::Seeded,
    worker::{Worker, tell},
};

const SEED: &str = "KILLS_SEED";
const SECONDS: &str = "KILLS_SECONDS";
const NAME: &str = "a.md";
const SIZE: usize = 20_000;
/// Versions of the other program are above this one; a worker's own hold its process id and a number.
const FOREIGN: u64 = 1 << 60;

fn time_is_up(start: Instant) -> bool {
    let seconds = std::env::var(SECONDS).map_or(2, |seconds| seconds.parse().unwrap());
    start.elapsed() > Duration::from_secs(seconds)
}

/// An instant in the next milliseconds.
fn soon(random: &mut Seeded) -> Instant {
    Instant::now() + Duration::from_micros(random.within(0, 8000))
}

/// Starts a worker, waits until it writes and some more, and kills it; `meanwhile` runs until then.
fn round(bench: &Bench, task: &str, random: &mut Seeded, mut meanwhile: impl FnMut()) {
    let mut worker = Worker::start(task, bench.folder());
    worker.hear().expect("the worker starts");
    let end = soon(random);
    while Instant::now() < end {
        meanwhile();
    }
    worker.kill();
}

/// Lines that survive the process that wrote them.
fn journal(folder: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(folder.join("journal")).unwrap()
}

fn take_journal(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.folder().join("journal")).unwrap_or_default();
    std::fs::write(bench.folder().join("journal"), "").unwrap();
    text.lines().map(str::to_owned).collect()
}

pub fn create_on_and_on(folder: &Path) {
    let root = open(&folder.join("vault"), config(&folder.join("state")));
    let mut journal = journal(folder);
    tell("ready");
    for number in 0_u64.. {
        let name = format!("n-{number}.md");
        write(&root, &name, &seal(&name, number, SIZE), Expect::Absent).unwrap();
        journal.write_all(format!("{name}\n").as_bytes()).unwrap();
    }
}

#[test]
fn a_killed_creation_leaves_a_whole_file_or_none() {
    let (bench, mut random, start) = (Bench::new(), Seeded::from_variable(SEED), Instant::now());
    let (mut rounds, mut files) = (0, 0);
    while !time_is_up(start) {
        round(&bench, "create on and on", &mut random, std::thread::yield_now);
        assert_eq!(bench.leftovers(), 0, "a creation has no staging folder");
        let names: BTreeSet<String> = bench.restart().into_iter().collect();
        for name in &names {
            let bytes = std::fs::read(bench.vault().join(name)).unwrap();
            assert_eq!(unseal(&bytes).map(|seal| seal.name).as_deref(), Some(name.as_str()), "torn");
            std::fs::remove_file(bench.vault().join(name)).unwrap();
        }
        let lost = take_journal(&bench).into_iter().filter(|name| !names.contains(name)).count();
        assert_eq!(lost, 0, "acknowledged files are there");
        rounds += 1;
        files += names.len();
    }
    need::say(&format!("killed {rounds} creators after {files} files: 0 torn, 0 lost"));
    assert!(files > 0);
}

pub fn replace_on_and_on(folder: &Path) {
    let vault = folder.join("vault");
    let root = open(&vault, config(&folder.join("state")));
    let mut journal = journal(folder);
    tell("ready");
    for number in 0_u64.. {
        let old = std::fs::read(vault.join(NAME)).unwrap();
        let version = u64::from(std::process::id()) << 24 | number;
        let displaced = unseal(&old).expect("whole").version;
        journal.write_all(format!("{displaced} {version}\n").as_bytes()).unwrap();
        let expect = Expect::Hash(ContentHash::of(&old));
        if write(&root, NAME, &seal(NAME, version, SIZE), expect).is_ok() {
            journal.write_all(format!("{version} done\n").as_bytes()).unwrap();
        }
    }
}

/// Another program that saves by exchanging names, so that it knows what it displaced.
struct Foreign {
    temporary: PathBuf,
    path: PathBuf,
    written: Vec<u64>,
    displaced: BTreeSet<u64>,
}

impl Foreign {
    fn of(bench: &Bench) -> Self {
        let (temporary, path) = (bench.folder().join("theirs"), bench.vault().join(NAME));
        Self { temporary, path, written: Vec::new(), displaced: BTreeSet::new() }
    }

    fn save(&mut self, number: u64) {
        let version = FOREIGN + number;
        std::fs::write(&self.temporary, seal(NAME, version, SIZE)).unwrap();
        renameat_with(CWD, &self.temporary, CWD, &self.path, RenameFlags::EXCHANGE).unwrap();
        self.written.push(version);
        self.displaced.insert(version_at(&self.temporary));
    }

    /// The versions of this program that are nowhere, and were not displaced by one who had read them.
    fn lost(&self, there: u64, kept: &BTreeSet<u64>, journal: &[String]) -> Vec<u64> {
        let done = |version: u64| journal.contains(&format!("{version} done"));
        let intents: BTreeMap<u64, Vec<u64>> = intents(journal);
        let seen =
            |version: u64| there == version || kept.contains(&version) || self.displaced.contains(&version);
        let replaced = |version: &u64| {
            let after = intents.get(version).into_iter().flatten();
            after.copied().any(|after| done(after) || seen(after) || intents.contains_key(&after))
        };
        self.written.iter().copied().filter(|version| !seen(*version) && !replaced(version)).collect()
    }
}

/// From each version that was read, the versions that were to take its place.
fn intents(journal: &[String]) -> BTreeMap<u64, Vec<u64>> {
    let mut intents: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in journal {
        if let Some((old, new)) = line.split_once(' ')
            && let (Ok(old), Ok(new)) = (old.parse(), new.parse())
        {
            intents.entry(old).or_default().push(new);
        }
    }
    intents
}

fn version_at(path: &Path) -> u64 {
    unseal(&std::fs::read(path).unwrap()).expect("a whole file").version
}

/// What the rounds of one kind of replacement came to.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    saves: usize,
    with_leftovers: usize,
    kept_of_theirs: usize,
    lost: Vec<u64>,
}

/// One round beside another program that saves: what of its versions is lost after the restart.
fn replace_round(bench: &Bench, task: &str, random: &mut Seeded, tally: &mut Tally) {
    let mut foreign = Foreign::of(bench);
    let mut number = tally.rounds * 1_000_000;
    round(bench, task, random, || {
        number += 1;
        foreign.save(number);
        std::thread::sleep(Duration::from_micros(300)); // so that the worker comes to its turn
    });
    tally.with_leftovers += usize::from(bench.leftovers() > 0);
    version_at(&bench.vault().join(NAME));
    assert_eq!(bench.restart(), [NAME], "swept");
    let kept = bench.take_history().iter().map(|bytes| unseal(bytes).expect("whole").version).collect();
    let there = version_at(&bench.vault().join(NAME));
    tally.lost.extend(foreign.lost(there, &kept, &take_journal(bench)));
    tally.rounds += 1;
    tally.saves += foreign.written.len();
    tally.kept_of_theirs += kept.iter().filter(|version| **version >= FOREIGN).count();
}

#[test]
fn a_killed_replacement_leaves_whole_files_and_loses_none_of_anothers() {
    let (bench, mut random, start) = (Bench::new(), Seeded::from_variable(SEED), Instant::now());
    std::fs::write(bench.vault().join(NAME), seal(NAME, 0, SIZE)).unwrap();
    let mut tally = Tally::default();
    // A kill between an exchange and its end leaves another's version in the staging folder: such kills must be met.
    while !time_is_up(start) || tally.kept_of_theirs == 0 {
        assert!(start.elapsed() < Duration::from_mins(1), "no kill fell into a replacement: {tally:?}");
        replace_round(&bench, "replace on and on", &mut random, &mut tally);
        assert_eq!(tally.lost, [0; 0], "{tally:?}");
    }
    need::say(&format!("killed replacers: {tally:?}"));
}

/// Verify, then rename over: what most programs do.
pub fn rename_over_on_and_on(folder: &Path) {
    let (path, temporary) = (folder.join("vault").join(NAME), folder.join("ours"));
    let mut journal = journal(folder);
    tell("ready");
    for number in 0_u64.. {
        let displaced = version_at(&path);
        let version = u64::from(std::process::id()) << 24 | number;
        journal.write_all(format!("{displaced} {version}\n").as_bytes()).unwrap();
        std::fs::write(&temporary, seal(NAME, version, SIZE)).unwrap();
        if version_at(&path) == displaced {
            std::fs::rename(&temporary, &path).unwrap();
        }
    }
}

#[test]
fn control_a_rename_over_loses_versions_of_another() {
    let (bench, mut random, start) = (Bench::new(), Seeded::from_variable(SEED), Instant::now());
    std::fs::write(bench.vault().join(NAME), seal(NAME, 0, SIZE)).unwrap();
    let mut tally = Tally::default();
    while tally.lost.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "the loop does not see lost versions: {tally:?}");
        replace_round(&bench, "rename over on and on", &mut random, &mut tally);
    }
}

pub fn write_in_place_on_and_on(folder: &Path) {
    let path = folder.join("vault").join(NAME);
    tell("ready");
    for number in 0_u64.. {
        let mut file = File::create(&path).unwrap();
        seal(NAME, number, 20 * SIZE).chunks(SIZE).for_each(|chunk| file.write_all(chunk).unwrap());
    }
}

#[test]
fn control_a_killed_writer_in_place_tears_its_file() {
    let (bench, mut random, start) = (Bench::new(), Seeded::from_variable(SEED), Instant::now());
    let mut torn = 0;
    while torn == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "the loop does not see torn files");
        std::fs::write(bench.vault().join(NAME), seal(NAME, 0, SIZE)).unwrap();
        round(&bench, "write in place on and on", &mut random, std::thread::yield_now);
        torn += usize::from(unseal(&std::fs::read(bench.vault().join(NAME)).unwrap()).is_none());
    }
}
