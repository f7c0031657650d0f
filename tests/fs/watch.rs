//! What other programs see of a vault while it is written to: names, and events.

use std::{
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};
use vaultwright::{fs::Expect, text::ContentHash};

use crate::{
    adversary::{Act, Arena, Worker, alone},
    bench_vault::{BenchVault, write},
};

/// A worker that looks again and again until it is told to stop, and then answers what it saw.
pub(crate) fn watcher(arena: Arena) -> Act {
    let mut watch: Option<(Arc<AtomicBool>, JoinHandle<String>)> = None;
    Box::new(move |words| {
        let looking = match *words {
            ["stop"] => {
                let (go_on, thread) = watch.take().unwrap();
                go_on.store(false, Ordering::Relaxed);
                return thread.join().unwrap();
            }
            ["sample", name, size] => sample(arena.path(name), size.parse().unwrap()),
            ["names"] => strangers(arena.path("")),
            _ => panic!("{words:?}"),
        };
        let go_on = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&go_on);
        watch = Some((go_on, std::thread::spawn(move || looking(&flag))));
        "looking".to_owned()
    })
}

type Looking = Box<dyn FnOnce(&AtomicBool) -> String + Send>;

/// Reads a file whole: how often, and how often it was not one size and one byte throughout.
fn sample(path: PathBuf, size: usize) -> Looking {
    Box::new(move |go_on| {
        let (mut looks, mut torn) = (0, 0);
        while go_on.load(Ordering::Relaxed) {
            let bytes = std::fs::read(&path).unwrap();
            looks += 1;
            let whole = bytes.len() == size && bytes == vec![bytes[0]; size];
            torn += usize::from(!whole);
        }
        format!("{looks} {torn}")
    })
}

/// Walks the tree: how often, and the visible names that are no note's.
fn strangers(vault: PathBuf) -> Looking {
    Box::new(move |go_on| {
        let mut looks = 0;
        let mut found = std::collections::BTreeSet::new();
        while go_on.load(Ordering::Relaxed) {
            found.extend(visible_strangers(&vault));
            looks += 1;
        }
        format!("{looks} {}", found.into_iter().collect::<Vec<_>>().join(","))
    })
}

fn visible_strangers(vault: &Path) -> Vec<String> {
    let hidden =
        |entry: &walkdir::DirEntry| entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
    walkdir::WalkDir::new(vault)
        .into_iter()
        .filter_entry(|entry| !hidden(entry))
        .filter_map(Result::ok)
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !is_note(name))
        .collect()
}

/// `note<number>.md`.
fn is_note(name: &str) -> bool {
    let number = name.strip_prefix("note").and_then(|rest| rest.strip_suffix(".md"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

#[test]
fn no_name_of_ours_is_seen_during_a_thousand_writes() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let root = arena.open(|_| {});
    let mut watcher = Worker::start("watcher", &arena);
    watcher.ask("names");
    for n in 0..250 {
        for folder in ["", "deep/er/"] {
            let name = format!("{folder}note{n}.md");
            write(&root, &name, b"one", Expect::Absent).unwrap();
            write(&root, &name, b"two", Expect::Hash(ContentHash::of(b"one"))).unwrap();
        }
    }
    let seen = watcher.ask("stop");
    let (looks, strange) = seen.split_once(' ').unwrap();
    assert!(looks.parse::<usize>().unwrap() > 3, "{seen}");
    assert_eq!(strange, "");
    drop(root);
    let dotted: Vec<_> = arena.names().into_iter().filter(|name| name.contains('.')).collect();
    assert!(dotted.iter().all(|name| !name.starts_with('.') && !name.contains("/.")), "{dotted:?}");
    assert_eq!(dotted.len(), 500);
    let passes = (1..=50).find(|_| are_seen(&mut watcher, &arena)).expect("the control must be seen");
    eprintln!("K3: 1000 writes, {looks} looks, no stranger; control: seen in pass {passes}");
}

/// The control: 250 files are replaced by way of a visible name beside them.
fn are_seen(watcher: &mut Worker, arena: &Arena) -> bool {
    watcher.ask("names");
    for n in 0..250 {
        let staged = arena.path(&format!("note{n}.md.tmp"));
        std::fs::write(&staged, "three").unwrap();
        std::fs::rename(&staged, arena.path(&format!("note{n}.md"))).unwrap();
    }
    watcher.ask("stop").contains(".tmp")
}

/// The events on a folder that tell of a name, without those of unnamed files (`#<inode>`).
struct Events(OwnedFd);

impl Events {
    fn on(folder: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let all = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE;
        inotify::add_watch(&watch, folder, all).unwrap();
        Self(watch)
    }

    fn take(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map_or("", |name| name.to_str().unwrap()).to_owned();
                    events.push((kind(event.events()), name));
                }
                Err(Errno::AGAIN) => break,
                Err(errno) => panic!("{errno}"),
            }
        }
        let named = events.into_iter().filter(|(_, name)| !name.starts_with('#') && !name.starts_with('.'));
        named.map(|(kind, name)| format!("{kind} {name}")).collect()
    }
}

fn kind(flags: ReadFlags) -> &'static str {
    let kinds = [
        (ReadFlags::CREATE, "CREATE"),
        (ReadFlags::MODIFY, "MODIFY"),
        (ReadFlags::CLOSE_WRITE, "CLOSE_WRITE"),
        (ReadFlags::MOVED_TO, "MOVED_TO"),
        (ReadFlags::MOVED_FROM, "MOVED_FROM"),
        (ReadFlags::ATTRIB, "ATTRIB"),
        (ReadFlags::DELETE, "DELETE"),
    ];
    kinds.iter().find(|(flag, _)| flags.contains(*flag)).map_or("OTHER", |(_, name)| name)
}

#[test]
fn a_creation_is_one_event_at_its_name() {
    let vault = BenchVault::new();
    let events = Events::on(&vault.path(""));
    vault.create("a.md", b"hello\n").unwrap();
    assert_eq!(events.take(), ["CREATE a.md"]);
}

#[test]
fn a_replacement_ends_with_an_event_that_makes_others_look_again() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let events = Events::on(&vault.path(""));
    vault.replace("a.md", b"A", b"hello\n").unwrap();
    assert_eq!(events.take(), ["MOVED_TO a.md", "MOVED_FROM a.md", "ATTRIB a.md"]);
}

/// The rule of our own watcher, and of any that is careful: believe no kind, look at the name.
#[test]
fn who_looks_at_each_name_an_event_tells_of_has_the_note_in_the_end() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let events = Events::on(&vault.path(""));
    let mut index = std::collections::BTreeMap::from([("a.md".to_owned(), b"hello\n".to_vec())]);
    for round in 0..20_u8 {
        let old = vault.bytes("a.md");
        vault.replace("a.md", &[round], &old).unwrap();
        for event in events.take() {
            let name = event.split_once(' ').unwrap().1;
            match std::fs::read(vault.path(name)) {
                Ok(bytes) => index.insert(name.to_owned(), bytes),
                Err(_) => index.remove(name),
            };
        }
        assert_eq!(index.get("a.md"), Some(&vec![round]));
    }
}
