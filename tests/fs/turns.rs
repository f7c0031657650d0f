//! Our own processes among themselves: creates, edits and guarded writes of one name; and their readers.

use std::sync::{Arc, Barrier};

use vaultwright::{
    error::Error,
    fs::{Expect, Root},
    text::ContentHash,
};

use crate::{
    adversary::{Act, Arena, Worker, alone, meet, soon},
    bench_vault::{append, write},
};

/// A worker that writes through a vault of its own, or, told to be `bare`, as programs do that look first and write
/// then: the control.
pub(crate) fn ours(arena: Arena) -> Act {
    let root = Arc::new(arena.open(|_| {}));
    let arena = Arc::new(arena);
    Box::new(move |words| match *words {
        ["create", way, at, threads, name, label] => {
            meet(at);
            let outcomes = in_threads(threads, |thread| {
                let (arena, root) = (Arc::clone(&arena), Arc::clone(&root));
                let (name, text) = (name.to_owned(), format!("{label}-{thread}"));
                let guarded = way == "guarded";
                move || {
                    if guarded {
                        outcome(write(&root, &name, text.as_bytes(), Expect::Absent), text)
                    } else {
                        bare_create(&arena, &name, text)
                    }
                }
            });
            outcomes.join(" ")
        }
        ["append", way, threads, count, label] => {
            let count: usize = count.parse().unwrap();
            let outcomes = in_threads(threads, |thread| {
                let (arena, root) = (Arc::clone(&arena), Arc::clone(&root));
                let (guarded, label) = (way == "guarded", label.to_owned());
                move || {
                    (0..count)
                        .map(|n| append_piece(&arena, &root, guarded, &format!("{label}-{thread}-{n}\n")))
                        .find(|outcome| outcome != "done")
                        .unwrap_or_else(|| "done".to_owned())
                }
            });
            outcomes.join(" ")
        }
        ["replace", way, at, old, new] => {
            meet(at);
            match way {
                "guarded" => {
                    let expect = Expect::Hash(ContentHash::of(old.as_bytes()));
                    outcome(write(&root, "a.md", new.as_bytes(), expect), new.to_owned())
                }
                _ => bare_replace(&arena, old, new),
            }
        }
        _ => panic!("{words:?}"),
    })
}

/// Runs what is made for each thread in all of them at once.
fn in_threads<F: FnOnce() -> String + Send>(threads: &str, make: impl Fn(usize) -> F) -> Vec<String> {
    let threads: usize = threads.parse().unwrap();
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (start, act) = (&start, make(thread));
                scope.spawn(move || {
                    start.wait();
                    act()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// What was published, or the reason.
fn outcome<T>(result: Result<T, Error>, text: String) -> String {
    match result {
        Ok(_) => text,
        Err(error) => error.name(),
    }
}

/// Between look and write the processor may be taken away; the controls give it away.
fn stop_a_little() {
    std::thread::sleep(std::time::Duration::from_micros(200));
}

fn bare_create(arena: &Arena, name: &str, text: String) -> String {
    if arena.path(name).exists() {
        return "file_exists".to_owned();
    }
    stop_a_little();
    std::fs::write(arena.path(name), &text).unwrap();
    text
}

fn append_piece(arena: &Arena, root: &Root, guarded: bool, piece: &str) -> String {
    if guarded {
        return outcome(append(root, "log.md", piece.as_bytes()), "done".to_owned());
    }
    let old = arena.text("log.md").unwrap_or_default();
    std::fs::write(arena.path("log.md"), old + piece).unwrap();
    "done".to_owned()
}

fn bare_replace(arena: &Arena, old: &str, new: &str) -> String {
    if arena.text("a.md").unwrap() != old {
        return "stale_precondition".to_owned();
    }
    let staged = arena.outside(new);
    std::fs::write(&staged, new).unwrap();
    stop_a_little();
    std::fs::rename(staged, arena.path("a.md")).unwrap();
    new.to_owned()
}

/// The outcomes of one order that all workers of a crew carry out at once.
fn all_at_once(crew: &mut [Worker], order: impl Fn(usize) -> String) -> Vec<String> {
    for (number, worker) in crew.iter_mut().enumerate() {
        worker.tell(&order(number));
    }
    crew.iter_mut()
        .flat_map(|worker| worker.answer().split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn create_at_once(crew: &mut [Worker], way: &str, threads: usize, name: &str) -> Vec<String> {
    let at = soon();
    all_at_once(crew, |worker| format!("create {way} {at} {threads} {name} w{worker}"))
}

fn count(outcomes: &[String], reason: &str) -> usize {
    outcomes.iter().filter(|outcome| *outcome == reason).count()
}

#[test]
fn of_64_creates_in_four_processes_exactly_one_succeeds() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let mut crew = Worker::crew("ours", &arena, 4);
    for round in 0..40 {
        let name = format!("n{round}.md");
        let outcomes = create_at_once(&mut crew, "guarded", 16, &name);
        assert_eq!((outcomes.len(), count(&outcomes, "file_exists")), (64, 63), "{outcomes:?}");
        let winner = outcomes.iter().find(|outcome| outcome.starts_with('w')).unwrap();
        assert_eq!(arena.text(&name).as_ref(), Some(winner));
    }
    let bare = (0..40).filter(|round| {
        let outcomes = create_at_once(&mut crew, "bare", 16, &format!("bare{round}.md"));
        count(&outcomes, "file_exists") < 63
    });
    let clobbered = bare.count();
    eprintln!("R1: 40 rounds of 64 creates, 40 winners; control: {clobbered} of 40 had several");
    assert!(clobbered > 0, "the control must let several creates of one name succeed");
}

#[test]
fn whatever_else_holds_the_name_no_create_of_many_takes_it() {
    let _turn = alone();
    let arena = Arena::in_memory();
    std::fs::create_dir(arena.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", arena.path("dangling.md")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, arena.path("fifo.md"), 0o600.into()).unwrap();
    let before = arena.names();
    let mut crew = Worker::crew("ours", &arena, 4);
    for (name, reason) in
        [("folder", "path_is_directory"), ("dangling.md", "symlink_refused"), ("fifo.md", "not_a_file")]
    {
        let outcomes = create_at_once(&mut crew, "guarded", 16, name);
        assert_eq!(count(&outcomes, reason), 64, "{outcomes:?}");
    }
    assert_eq!(arena.names(), before);
}

#[test]
fn twenty_creates_in_parallel_all_succeed_under_their_names() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let root = arena.open(|_| {});
    let start = Barrier::new(20);
    std::thread::scope(|scope| {
        for n in 0..20 {
            let (root, start) = (&root, &start);
            scope.spawn(move || {
                start.wait();
                write(root, &format!("new/n{n:02}.md"), format!("text {n}").as_bytes(), Expect::Absent)
                    .unwrap();
            });
        }
    });
    let mut expected: Vec<_> = (0..20).map(|n| format!("new/n{n:02}.md")).collect();
    expected.insert(0, "new/".to_owned());
    assert_eq!(arena.names(), expected);
    assert!((0..20).all(|n| arena.text(&format!("new/n{n:02}.md")) == Some(format!("text {n}"))));
}

/// How many pieces of `log.md` are missing or there more than once.
fn wrong_pieces(arena: &Arena, crew: usize, threads: usize, count: usize) -> usize {
    let text = arena.text("log.md").unwrap_or_default();
    let mut seen = std::collections::HashMap::new();
    for line in text.lines() {
        *seen.entry(line.to_owned()).or_insert(0) += 1;
    }
    let wanted = (0..crew)
        .flat_map(|w| (0..threads).flat_map(move |t| (0..count).map(move |n| format!("w{w}-{t}-{n}"))));
    let right = wanted.filter(|piece| seen.get(piece) == Some(&1)).count();
    crew * threads * count - right + seen.len().abs_diff(right)
}

fn append_all(way: &str, crew_size: usize, threads: usize, pieces: usize) -> (usize, Vec<String>) {
    let arena = Arena::in_memory();
    let mut crew = Worker::crew("ours", &arena, crew_size);
    let outcomes = all_at_once(&mut crew, |worker| format!("append {way} {threads} {pieces} w{worker}"));
    (wrong_pieces(&arena, crew_size, threads, pieces), outcomes)
}

#[test]
fn appends_of_four_processes_and_eight_threads_each_all_land_once() {
    let _turn = alone();
    let start = std::time::Instant::now();
    let (wrong, outcomes) = append_all("guarded", 4, 8, 100);
    assert_eq!(count(&outcomes, "done"), 32, "{outcomes:?}");
    assert_eq!(wrong, 0);
    let took = start.elapsed();
    let (lost, _) = append_all("bare", 4, 8, 100);
    eprintln!("R7: 3200 pieces, 0 wrong, {took:?}; control: {lost} wrong");
    assert!(lost > 0, "the control must lose pieces");
}

#[test]
fn thirty_appends_of_eight_processes_all_land_once() {
    let _turn = alone();
    let (wrong, outcomes) = append_all("guarded", 8, 1, 30);
    assert_eq!(count(&outcomes, "done"), 8, "{outcomes:?}");
    assert_eq!(wrong, 0);
}

#[test]
fn of_eight_guarded_writes_with_one_hash_one_commits() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let mut crew = Worker::crew("ours", &arena, 8);
    let mut commits = |way: &str, round: usize| {
        let old = format!("old{round}");
        arena.put("a.md", &old);
        let at = soon();
        let outcomes = all_at_once(&mut crew, |worker| format!("replace {way} {at} {old} w{worker}"));
        let winners: Vec<_> = outcomes.iter().filter(|outcome| outcome.starts_with('w')).collect();
        if way == "guarded" {
            assert_eq!(winners.len(), 1, "{outcomes:?}");
            assert_eq!(arena.text("a.md").as_ref(), Some(winners[0]));
            let lost = count(&outcomes, "stale_precondition") + count(&outcomes, "concurrent_write");
            assert_eq!(lost, 7, "{outcomes:?}");
        }
        winners.len()
    };
    for round in 0..100 {
        commits("guarded", round);
    }
    let several = (0..100).filter(|round| commits("bare", *round) > 1).count();
    eprintln!("R8: 100 rounds of 8 writers, one commit each; control: {several} of 100 had several");
    assert!(several > 0, "the control must let several writers win");
}

const BIG: usize = 8 * 1024 * 1024;

fn filled(round: u8) -> Vec<u8> {
    vec![round; BIG]
}

#[test]
fn a_reader_never_sees_part_of_a_large_file_nor_a_mixture() {
    let _turn = alone();
    let arena = Arena::in_memory();
    let root = arena.open(|config| config.durable = false);
    write(&root, "big.bin", &filled(0), Expect::Absent).unwrap();
    let mut reader = Worker::start("watcher", &arena);
    reader.ask(&format!("sample big.bin {BIG}"));
    let mut old = ContentHash::of(&filled(0));
    for round in 1..=200 {
        old = write(&root, "big.bin", &filled(round), Expect::Hash(old)).unwrap().hash;
    }
    let seen = reader.ask("stop");
    let (looks, torn) = seen.split_once(' ').unwrap();
    assert!(looks.parse::<usize>().unwrap() > 20, "{seen}");
    assert_eq!(torn, "0", "{seen}");
    reader.ask(&format!("sample big.bin {BIG}"));
    for round in 1..=40 {
        std::fs::write(arena.path("big.bin"), filled(round)).unwrap();
    }
    let control = reader.ask("stop");
    eprintln!("8 MiB, 200 replacements: looks and torn {seen}; control, in place: {control}");
    assert_ne!(control.split_once(' ').unwrap().1, "0", "the control must be seen torn");
}
