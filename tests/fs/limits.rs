//! No call waits longer than it says: on fifos, leases, locks and writers that never close. And what a lease does.

use std::{
    cell::RefCell,
    fs::{File, OpenOptions},
    io::Write,
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;
use vaultwright::{
    error::Error,
    fs::{
        Expect, Guarantee, Lookup,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    path::VaultPath,
    text::ContentHash,
};

use crate::{
    adversary::{Act, Arena, Worker, alone, wait_for},
    bench_vault::{append, reason, write},
};

/// What a busy machine may add to any limit; a call that waits without one waits for 45 seconds, or for ever.
const SLACK: Duration = Duration::from_secs(1);

/// A worker that holds what it is told to.
pub(crate) fn holder(arena: Arena) -> Act {
    let mut held: Vec<File> = Vec::new();
    Box::new(move |words| match *words {
        ["lease", kind, name] => {
            let file = File::open(arena.path(name)).unwrap();
            take_lease(&file, if kind == "write" { libc::F_WRLCK } else { libc::F_RDLCK });
            held.push(file);
            "held".to_owned()
        }
        ["lock"] => {
            let folder = File::open(arena.path("")).unwrap();
            rustix::fs::flock(&folder, FlockOperation::LockExclusive).unwrap();
            held.push(folder);
            "held".to_owned()
        }
        ["writer", name] => {
            held.push(OpenOptions::new().append(true).open(arena.path(name)).unwrap());
            "held".to_owned()
        }
        ["write", text] => {
            held.last_mut().unwrap().write_all(text.as_bytes()).unwrap();
            "written".to_owned()
        }
        ["append", name, text] => {
            let mut file = OpenOptions::new().append(true).open(arena.path(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            "appended".to_owned()
        }
        ["append_if_free", name, text] => {
            let mut options = OpenOptions::new();
            let opened = options.append(true).custom_flags(libc::O_NONBLOCK).open(arena.path(name));
            match opened {
                Ok(mut file) => file.write_all(text.as_bytes()).map(|()| "appended".to_owned()).unwrap(),
                Err(error) => error.kind().to_string(),
            }
        }
        ["release"] => {
            held.clear();
            "released".to_owned()
        }
        _ => panic!("{words:?}"),
    })
}

/// As another program takes a lease; a break of it must not end the worker.
#[expect(unsafe_code, reason = "fcntl with F_SETLEASE and F_SETSIG has no safe wrapper")]
fn take_lease(file: &File, kind: libc::c_int) {
    const F_SETSIG: libc::c_int = 10;
    // SAFETY: the descriptor is open, and both commands take an int and touch no memory.
    let taken = unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind)
    };
    assert_eq!(taken, 0, "{}", std::io::Error::last_os_error());
}

/// The reason of a call that must fail within a limit.
fn refused_within<T: std::fmt::Debug>(limit: Duration, call: impl FnOnce() -> Result<T, Error>) -> String {
    let start = Instant::now();
    let error = call().unwrap_err();
    let took = start.elapsed();
    assert!(took < limit + SLACK, "{error}: {took:?}");
    error.name()
}

fn hello() -> Expect {
    Expect::Hash(ContentHash::of(b"hello\n"))
}

#[test]
fn a_fifo_at_the_name_is_no_file_at_once() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    rustix::fs::mkfifoat(rustix::fs::CWD, arena.path("a.md"), 0o600.into()).unwrap();
    let path = VaultPath::parse("a.md").unwrap();
    let limit = Duration::from_millis(100);
    let place = || root.place(&path, Lookup::Read).unwrap();
    assert_eq!(refused_within(limit, || root.open_file(&place())), "not_a_file");
    for expect in [Expect::Absent, Expect::Any, Expect::AnyOrAbsent, hello()] {
        let call = || write(&root, "a.md", b"A", expect);
        assert_eq!(refused_within(limit, call), "not_a_file", "{expect:?}");
    }
    assert_eq!(refused_within(limit, || append(&root, "a.md", b"A")), "not_a_file");
}

#[test]
fn a_fifo_that_comes_between_look_and_open_is_no_file_either() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    arena.put("a.md", "hello\n");
    let place = root.place(&VaultPath::parse("a.md").unwrap(), Lookup::Read).unwrap();
    std::fs::remove_file(arena.path("a.md")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, arena.path("a.md"), 0o600.into()).unwrap();
    assert_eq!(refused_within(Duration::from_millis(100), || root.open_file(&place)), "not_a_file");
}

#[test]
fn another_programs_write_lease_is_waited_for_a_tenth_of_a_second() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    arena.put("a.md", "hello\n");
    let mut other = Worker::start("holder", &arena);
    other.ask("lease write a.md");
    let limit = Duration::from_millis(100);
    let path = VaultPath::parse("a.md").unwrap();
    let place = || root.place(&path, Lookup::Read).unwrap();
    assert_eq!(refused_within(limit, || root.open_file(&place())), "vault_busy");
    assert_eq!(refused_within(limit, || write(&root, "a.md", b"A", hello())), "vault_busy");
    assert_eq!(refused_within(limit, || write(&root, "a.md", b"A", Expect::Any)), "vault_busy");
    assert_eq!(refused_within(limit, || append(&root, "a.md", b"A")), "vault_busy");
    assert_eq!(refused_within(limit, || write(&root, "a.md", b"A", Expect::Absent)), "file_exists");
    other.ask("release");
    write(&root, "a.md", b"A", hello()).unwrap();
}

#[test]
fn another_programs_read_lease_is_in_nobodys_way() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    arena.put("a.md", "hello\n");
    let mut other = Worker::start("holder", &arena);
    other.ask("lease read a.md");
    let start = Instant::now();
    write(&root, "a.md", b"A", hello()).unwrap();
    append(&root, "a.md", b"B").unwrap();
    assert!(start.elapsed() < SLACK + SLACK, "{:?}", start.elapsed());
    assert_eq!(arena.text("a.md").as_deref(), Some("AB"));
}

#[test]
fn a_held_folder_lock_is_busy_within_the_setting() {
    let _turn = alone();
    let limit = Duration::from_millis(150);
    let arena = Arena::on_disk();
    let root = arena.open(|config| config.lock_timeout = limit);
    arena.put("a.md", "hello\n");
    let mut other = Worker::start("holder", &arena);
    other.ask("lock");
    assert_eq!(refused_within(limit, || write(&root, "b.md", b"B", Expect::Absent)), "vault_busy");
    assert_eq!(refused_within(limit, || write(&root, "a.md", b"A", hello())), "vault_busy");
    assert_eq!(refused_within(limit, || append(&root, "a.md", b"A")), "vault_busy");
    assert_eq!(arena.text("a.md").as_deref(), Some("hello\n"));
    other.ask("release");
    write(&root, "a.md", b"A", hello()).unwrap();
    assert!(!arena.path("b.md").exists());
}

#[test]
fn a_writer_that_never_closes_is_waited_for_and_then_a_race() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    arena.put("a.md", "hello\n");
    let mut other = Worker::start("holder", &arena);
    other.ask("writer a.md");
    let limit = Duration::from_millis(20);
    assert_eq!(refused_within(limit, || write(&root, "a.md", b"A", hello())), "concurrent_write");
    assert_eq!(refused_within(limit * 6, || append(&root, "a.md", b"A")), "concurrent_write");
    assert_eq!(arena.text("a.md").as_deref(), Some("hello\n"));
    other.ask("release");
    write(&root, "a.md", b"A", hello()).unwrap();
}

/// Somebody's opening of the file is held back by a lease on it.
fn is_being_broken(path: &Path) -> bool {
    let inode = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("BREAKING") && line.contains(&inode))
}

/// A guarded replacement, and in the last instant before its swap another program's order, while our lease is on the
/// file; what came of the two.
fn replace_against(arena: &Arena, order: &'static str) -> (Result<(), Error>, String) {
    let root = arena.open(|_| {});
    arena.put("a.md", "hello\n");
    let other = Rc::new(RefCell::new(Worker::start("holder", arena)));
    let (same, path) = (Rc::clone(&other), arena.path("a.md"));
    let act = move || {
        same.borrow_mut().tell(order);
        wait_for("the break of our lease", || is_being_broken(&path));
        assert!(order.starts_with("append_if_free") || same.borrow().is_silent(), "the opener is held back");
    };
    let _armed = fault::arm(Step::Exchange, 0, Action::Run(Box::new(act)));
    let result = write(&root, "a.md", b"A", hello()).map(drop);
    let answer = other.borrow_mut().answer();
    (result, answer)
}

#[test]
fn what_a_held_back_opener_writes_ends_at_the_name() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let (result, answer) = replace_against(&arena, "append a.md foreign");
    assert_eq!(reason(result), "concurrent_write");
    assert_eq!(answer, "appended");
    assert_eq!(arena.text("a.md").as_deref(), Some("hello\nforeign"));
    assert!(arena.history().is_empty());
    assert_eq!(arena.names(), ["a.md"]);
}

#[test]
fn an_opener_that_would_not_wait_breaks_the_lease_all_the_same() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let (result, answer) = replace_against(&arena, "append_if_free a.md foreign");
    assert_eq!(reason(result), "concurrent_write");
    assert_ne!(answer, "appended");
    assert_eq!(arena.text("a.md").as_deref(), Some("hello\n"));
}

/// The control: with the lease's tier taken away the same opener writes to a file that has lost its name.
#[test]
fn without_the_lease_the_same_opener_is_not_seen() {
    let _turn = alone();
    let arena = Arena::on_disk();
    let root = arena.open(|config| config.max_tier = (1, 2));
    arena.put("a.md", "hello\n");
    let other = Rc::new(RefCell::new(Worker::start("holder", &arena)));
    let same = Rc::clone(&other);
    let act = move || assert_eq!(same.borrow_mut().ask("writer a.md"), "held");
    let _armed = fault::arm(Step::Exchange, 0, Action::Run(Box::new(act)));
    let written = write(&root, "a.md", b"A", hello()).unwrap();
    assert_eq!(written.guarantee, Guarantee::Detecting);
    assert_eq!(other.borrow_mut().ask("write foreign"), "written");
    assert_eq!(arena.text("a.md").as_deref(), Some("A"), "the control must lose what was written");
    assert!(arena.history().is_empty());
}
