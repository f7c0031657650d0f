//! What dead processes left, and live ones that are spared.

use std::path::Path;

use vaultwright::{
    fs::{
        Expect,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    text::ContentHash,
};

use crate::{
    adversary::{Act, Arena, Worker, alone, say},
    bench_vault::write,
};

/// A worker that replaces, and can be killed in the middle of it.
pub(crate) fn mortal(arena: Arena) -> Act {
    let mut root = None;
    Box::new(move |words| match *words {
        ["replace", name, old, new] => {
            let root = root.get_or_insert_with(|| arena.open(|_| {}));
            let expect = Expect::Hash(ContentHash::of(old.as_bytes()));
            write(root, name, new.as_bytes(), expect).map_or_else(|error| error.name(), |_| "done".to_owned())
        }
        // The name holds the new text and the staging folder the old one when the folder is flushed.
        ["stop_after_swap", name, old, new] => {
            let root = root.get_or_insert_with(|| arena.open(|_| {}));
            let stop = || {
                say("@stopped");
                loop {
                    std::thread::park();
                }
            };
            let _armed = fault::arm(Step::SyncFolder, 0, Action::Run(Box::new(stop)));
            let expect = Expect::Hash(ContentHash::of(old.as_bytes()));
            write(root, name, new.as_bytes(), expect).unwrap();
            unreachable!()
        }
        ["open_and_close", times, name] => open_and_close(&arena, times.parse().unwrap(), name),
        _ => panic!("{words:?}"),
    })
}

/// Opens the vault, which sweeps it, replaces a file of its own, which makes a staging folder, and closes it again.
fn open_and_close(arena: &Arena, times: usize, name: &str) -> String {
    let mut old = write(&arena.open(|_| {}), name, b"0", Expect::Absent).unwrap().hash;
    for n in 1..=times {
        let root = arena.open(|_| {});
        match write(&root, name, n.to_string().as_bytes(), Expect::Hash(old)) {
            Ok(written) => old = written.hash,
            Err(error) => return format!("{n}: {error}"),
        }
    }
    "done".to_owned()
}

fn instances(arena: &Arena) -> usize {
    let base = arena.path(".vaultwright");
    let folders = std::fs::read_dir(base).into_iter().flatten().map(Result::unwrap);
    folders.filter(|entry| entry.file_type().unwrap().is_dir()).count()
}

#[test]
fn a_sweep_spares_the_folder_of_a_live_process() {
    let arena = Arena::on_disk();
    arena.put("a.md", "one");
    let mut other = Worker::start("mortal", &arena);
    assert_eq!(other.ask("replace a.md one two"), "done");
    assert_eq!(instances(&arena), 1);
    drop(arena.open(|_| {}));
    assert_eq!(instances(&arena), 1);
    assert_eq!(other.ask("stop_after_swap a.md two three"), "stopped");
    drop(arena.open(|_| {}));
    assert_eq!(instances(&arena), 1);
    assert!(arena.history().is_empty());
}

#[test]
fn what_a_killed_process_had_displaced_is_kept_as_recovered() {
    let arena = Arena::on_disk();
    arena.put("a.md", "one");
    let mut other = Worker::start("mortal", &arena);
    assert_eq!(other.ask("stop_after_swap a.md one two"), "stopped");
    drop(other);
    assert_eq!((instances(&arena), arena.text("a.md").as_deref()), (1, Some("two")));
    drop(arena.open(|config| config.sweeps = false));
    assert_eq!(instances(&arena), 1, "who only reads sweeps nothing");
    drop(arena.open(|_| {}));
    assert_eq!(arena.history(), [("recovered".to_owned(), b"one".to_vec())]);
    assert_eq!(arena.names(), ["a.md"]);
    drop(arena.open(|_| {}));
    assert_eq!(arena.history().len(), 1);
}

#[test]
fn a_folder_in_a_notes_folder_is_swept_by_the_next_call_that_stages_there() {
    let arena = Arena::on_disk();
    let root = arena.open(|_| {});
    std::fs::write(arena.path(".vaultwright"), "in the way").unwrap();
    let left = arena.path(".vw-aaaaaaaaaaaa");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("1"), "foreign").unwrap();
    arena.put("a.md", "one");
    write(&root, "a.md", b"two", Expect::Hash(ContentHash::of(b"one"))).unwrap();
    assert_eq!(arena.history(), [("recovered".to_owned(), b"foreign".to_vec())]);
    assert_eq!(arena.names(), [".vaultwright", "a.md"]);
}

#[test]
fn processes_that_start_and_sweep_at_once_do_not_take_each_others_folders() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let mut crew = Worker::crew("mortal", &arena, 4);
    for (number, worker) in crew.iter_mut().enumerate() {
        worker.tell(&format!("open_and_close 150 n{number}.md"));
    }
    for worker in &mut crew {
        assert_eq!(worker.answer(), "done");
    }
    let names = arena.names();
    assert_eq!(names, ["n0.md", "n1.md", "n2.md", "n3.md"]);
    assert!(names.iter().all(|name| std::fs::read(arena.path(name)).unwrap() == b"150"));
    assert!(arena.history().is_empty());
    assert!(!Path::new(&arena.path(".vaultwright")).exists());
}

/// Each call makes a folder of its own beside the note and sweeps what dead calls left there.
#[test]
fn calls_that_stage_in_the_notes_folder_do_not_take_each_others_folders() {
    let _turn = alone();
    let arena = Arena::in_memory();
    std::fs::write(arena.path(".vaultwright"), "in the way").unwrap();
    let mut crew = Worker::crew("mortal", &arena, 4);
    for (number, worker) in crew.iter_mut().enumerate() {
        worker.tell(&format!("open_and_close 400 n{number}.md"));
    }
    for worker in &mut crew {
        assert_eq!(worker.answer(), "done");
    }
    assert_eq!(arena.names(), [".vaultwright", "n0.md", "n1.md", "n2.md", "n3.md"]);
    assert!(arena.history().is_empty());
}
