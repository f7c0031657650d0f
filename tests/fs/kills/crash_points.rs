//! Crash points: an operation is run once under `strace` to count its changing kernel calls; then it is run again for
//! each of them, killed right before that call, or with that call failing.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Stdio},
};

use vaultwright::{error::Error, fs::Expect, text::ContentHash};

use super::Bench;
use crate::{
    bench_vault::{config, names, open, write},
    lab::{Mounted, command, wait_until},
    need::{self, need},
    sealed::{seal, unseal},
    worker::{Worker, tell, wait_for_go},
};

/// Every call that can change a file system, its locks or its leases.
const CHANGING: &str = "openat,openat2,write,fallocate,fdatasync,fsync,syncfs,linkat,rename,renameat,renameat2,unlinkat,\
                        mkdirat,fchmod,fchown,fsetxattr,fremovexattr,utimensat,flock,fcntl";
const OLD: u64 = 1;
const NEW: u64 = 2;
const SIZE: usize = 20_000;

/// One operation, and what of it may be seen.
#[derive(Clone, Copy, Debug)]
struct Operation {
    task: &'static str,
    name: &'static str,
    before: Option<u64>,
}

const CREATE: Operation = Operation { task: "create once", name: "deep/er/new.md", before: None };
const REPLACE: Operation = Operation { task: "replace once", name: "a.md", before: Some(OLD) };

pub fn create_once(folder: &Path) {
    once(folder, CREATE.name, Expect::Absent);
}

pub fn replace_once(folder: &Path) {
    let old = ContentHash::of(&seal(REPLACE.name, OLD, SIZE));
    once(folder, REPLACE.name, Expect::Hash(old));
}

/// Opens the vault, tells which thread will act, waits to be traced, acts, tells what came of it.
fn once(folder: &Path, name: &str, expect: Expect) {
    let root = open(&folder.join("vault"), config(&folder.join("state")));
    let content = seal(name, NEW, SIZE);
    tell(&this_thread());
    wait_for_go();
    match write(&root, name, &content, expect) {
        Ok(_) => tell("done"),
        Err(error) => tell(&Error::name(&error)),
    }
}

fn this_thread() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Operation {
    fn bench(self) -> Bench {
        let bench = Bench::new();
        if let Some(version) = self.before {
            std::fs::write(bench.vault().join(self.name), seal(self.name, version, SIZE)).unwrap();
        }
        bench
    }

    /// The version at the name; none when there is nothing, and anything torn or strange ends the test.
    fn version(self, bench: &Bench, context: &str) -> Option<u64> {
        let is_folder_of_it = |name: &str| name.ends_with('/') && self.name.starts_with(name);
        let visible = names(&bench.vault()).into_iter().filter(|name| !name.starts_with('.'));
        for name in visible.filter(|name| !is_folder_of_it(name)) {
            assert_eq!(name, self.name, "{context}: a stray");
        }
        let bytes = std::fs::read(bench.vault().join(self.name)).ok()?;
        Some(unseal(&bytes).unwrap_or_else(|| panic!("{context}: torn")).version)
    }

    /// The old version or the new one, whole, before the next process starts and after; nothing else then.
    fn check(self, bench: &Bench, told: Option<&str>, context: &str) {
        let version = self.version(bench, context);
        match told {
            Some("done") => assert_eq!(version, Some(NEW), "{context}"),
            Some(refused) => {
                assert_eq!(version, self.before, "{context}: {refused}");
                let traces = names(&bench.vault()).iter().any(|name| name.starts_with("deep"));
                assert!(!traces, "{context}: {refused} left a folder");
            }
            None => assert!(version == self.before || version == Some(NEW), "{context}: {version:?}"),
        }
        let left: Vec<_> = bench.restart().into_iter().filter(|name| name.starts_with('.')).collect();
        assert!(left.is_empty(), "{context}: {left:?} after a restart");
        assert_eq!(self.version(bench, context), version, "{context}: changed by the restart");
        let recovered = bench.take_history();
        assert!(recovered.iter().all(|bytes| unseal(bytes).is_some() || told.is_none()), "{context}");
    }
}

/// Does a task once, traced with those words; what the worker told, if it lived to.
fn run(task: &str, bench: &Bench, words: &[&str]) -> Option<String> {
    let mut worker = Worker::start(task, bench.folder());
    let thread = worker.hear().expect("the worker starts");
    let mut tracer = trace(&thread, worker.child.id(), words);
    worker.go();
    let told = worker.hear();
    worker.child.wait().unwrap();
    tracer.wait().unwrap();
    told
}

/// How often a task makes each changing call.
fn count(task: &str, bench: &Bench) -> BTreeMap<String, usize> {
    let log = bench.folder().join("trace");
    let told = run(task, bench, &["-o", log.to_str().unwrap(), "-e", &format!("trace={CHANGING}")]);
    assert_eq!(told.as_deref(), Some("done"));
    let mut counts = BTreeMap::new();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        if let Some((call, _)) = line.split_once('(') {
            *counts.entry(call.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Attaches to one thread alone, so that calls are counted from here on; returns when it is attached.
fn trace(thread: &str, process: u32, words: &[&str]) -> Child {
    let mut strace = command("strace");
    strace.args(words).args(["-p", thread]).stdout(Stdio::null()).stderr(Stdio::null());
    let tracer = strace.spawn().unwrap();
    let status = format!("/proc/{process}/task/{thread}/status");
    wait_until("strace attaches", || {
        let status = std::fs::read_to_string(&status).unwrap();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    });
    tracer
}

/// Does a task on a new bench for each fault at each of its calls; `check` is told what the worker told, and where.
fn every_point(
    task: &str,
    faults: &[&str],
    bench: impl Fn() -> Bench,
    check: impl Fn(&Bench, Option<&str>, &str),
) {
    let (mut points, mut done, mut silent) = (0, 0, 0);
    for (call, count) in count(task, &bench()) {
        for (number, fault) in (1..=count).flat_map(|number| faults.iter().map(move |fault| (number, fault)))
        {
            let bench = bench();
            let trace = format!("trace={call}");
            let inject = format!("inject={call}:{fault}:when={number}");
            let told = run(task, &bench, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
            check(&bench, told.as_deref(), &format!("{task} with {fault} at {call} {number}"));
            points += 1;
            done += usize::from(told.as_deref() == Some("done"));
            silent += usize::from(told.is_none());
        }
    }
    need::say(&format!(
        "{task}: {points} points with {faults:?}, {done} done all the same, {silent} without an answer"
    ));
    assert!(points > done, "no fault was felt");
}

const KILL: [&str; 1] = ["signal=SIGKILL"];
const FAIL: [&str; 2] = ["error=ENOSPC", "error=EIO"];

impl Operation {
    fn every_point(self, faults: &[&str]) {
        every_point(
            self.task,
            faults,
            || self.bench(),
            |bench, told, context| self.check(bench, told, context),
        );
    }
}

#[test]
fn a_creation_killed_at_any_call_is_whole_or_absent() {
    need!(root, tool "strace");
    CREATE.every_point(&KILL);
}

#[test]
fn a_replacement_killed_at_any_call_is_old_or_new() {
    need!(root, tool "strace");
    REPLACE.every_point(&KILL);
}

#[test]
fn a_creation_of_which_any_call_fails_is_whole_or_absent() {
    need!(root, tool "strace");
    CREATE.every_point(&FAIL);
}

#[test]
fn a_replacement_of_which_any_call_fails_is_old_or_new() {
    need!(root, tool "strace");
    REPLACE.every_point(&FAIL);
}

/// Opens a vault in which a process died, which sweeps.
pub fn sweep_once(folder: &Path) {
    tell(&this_thread());
    wait_for_go();
    drop(open(&folder.join("vault"), config(&folder.join("state"))));
    tell("done");
}

const LEFT: [&str; 2] = ["1", "2"];

/// A staging folder of a dead process with two versions of another program in it.
fn bench_with_leftovers() -> Bench {
    let bench = Bench::new();
    let staging = bench.vault().join(".vaultwright/abcdefghijkl");
    std::fs::create_dir_all(&staging).unwrap();
    std::fs::write(bench.vault().join(".vaultwright/.gitignore"), "*\n").unwrap();
    for name in LEFT {
        std::fs::write(staging.join(name), seal(name, OLD, SIZE)).unwrap();
    }
    bench
}

/// The next sweep finishes what a killed or failing one began: each version is in the history, whole.
fn check_sweep(bench: &Bench, context: &str) {
    assert_eq!(bench.restart(), [""; 0], "{context}");
    let kept: Vec<_> =
        bench.take_history().iter().filter_map(|bytes| unseal(bytes)).map(|seal| seal.name).collect();
    assert!(LEFT.iter().all(|name| kept.iter().any(|kept| kept == name)), "{context}: {kept:?}");
}

#[test]
fn a_sweep_killed_or_failing_at_any_call_is_finished_by_the_next() {
    need!(root, tool "strace");
    for faults in [&KILL[..], &FAIL[..]] {
        every_point("sweep once", faults, bench_with_leftovers, |bench, _, context| {
            check_sweep(bench, context);
        });
    }
}

/// Where the history is on another file system than the vault, what is kept is copied.
#[test]
fn a_sweep_to_another_file_system_killed_at_any_call_is_finished_by_the_next() {
    need!(root, tool "strace");
    let other = tempfile::tempdir().unwrap();
    let mounted = Mounted::mount(&["-t", "tmpfs", "vaultwright"], other.path()).unwrap();
    let bench = || {
        let bench = bench_with_leftovers();
        let state = tempfile::tempdir_in(mounted.point()).unwrap().keep();
        std::os::unix::fs::symlink(state, bench.folder().join("state")).unwrap();
        bench
    };
    every_point("sweep once", &KILL, bench, |bench, _, context| check_sweep(bench, context));
}
