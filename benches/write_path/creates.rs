//! No-clobber creates at full durability.

use std::{
    path::{Path, PathBuf},
    sync::Barrier,
    time::{Duration, Instant},
};

use criterion::Criterion;
use vaultwright::{
    fs::{Content, Expect, Lookup, Root},
    path::VaultPath,
};

use crate::{
    floors::{self, Bare},
    rows::{Row, Timed, measure},
    yard::{Image, NOTE, Yard, memory, name},
};

pub(crate) fn bench(criterion: &mut Criterion) {
    for notes in [10, 1000] {
        let title = format!("create, tmpfs, {notes} notes, same calls");
        beside(criterion, &memory(), &title, "≤ 1.15", notes, Bare::create);
    }
    beside(criterion, &memory(), "create, tmpfs, 10 notes, unsafe", "none", 10, Bare::unsafe_create);
    in_large_folder(criterion);
    large(criterion);
    let Some(image) = Image::ext4() else { return };
    beside(
        criterion,
        &image.path(),
        "create, ext4 loop, 10 notes, shortest",
        "≤ 1.10",
        10,
        Bare::shortest_create,
    );
    let (place, group) = (image.path(), "50 creates, ext4 loop, as a group to one by one");
    let threads = "32 creates, ext4 loop, 8 threads to 1";
    many(criterion, &place, THREADS * EACH, threads, "≤ 0.2", in_threads);
    many(criterion, &place, GROUP, group, "≤ 0.05", together);
}

/// A create and one of the floors.
fn beside(
    criterion: &mut Criterion,
    place: &Path,
    title: &str,
    target: &'static str,
    notes: usize,
    floor: fn(&mut Bare) -> Duration,
) {
    let yard = Yard::new(place, notes);
    let (root, mut bare) = (yard.root(), Bare::new(&yard));
    let floor: Timed<'_> = Box::new(|| floor(&mut bare));
    let ours = create(&yard, &root, vec![b'x'; NOTE]);
    measure(criterion, Row { name: title.into(), target, floor: Some(floor), ours });
}

/// The file is removed again off the clock.
fn create<'a>(yard: &Yard, root: &'a Root, bytes: Vec<u8>) -> Timed<'a> {
    let (path, file) = (name("notes/new.md"), yard.path("vault/notes/new.md"));
    Box::new(move || {
        let took = create_once(root, &path, bytes.clone());
        std::fs::remove_file(&file).unwrap();
        took
    })
}

fn create_once(root: &Root, path: &VaultPath, bytes: Vec<u8>) -> Duration {
    let content = Content::Bytes(bytes);
    let start = Instant::now();
    let place = root.place(path, Lookup::Create).unwrap();
    std::hint::black_box(root.write(place, content, Expect::Absent).unwrap());
    start.elapsed()
}

fn in_large_folder(criterion: &mut Criterion) {
    let (empty, full) = (Yard::new(&memory(), 0), Yard::new(&memory(), 10_000));
    let (one, other) = (empty.root(), full.root());
    let floor = Some(create(&empty, &one, vec![b'x'; NOTE]));
    let ours = create(&full, &other, vec![b'x'; NOTE]);
    let title = "create, tmpfs, 10 000 notes, to an empty folder";
    measure(criterion, Row { name: title.into(), target: "none", floor, ours });
}

fn large(criterion: &mut Criterion) {
    let yard = Yard::new(&memory(), 10);
    let (root, bare, bytes) = (yard.root(), yard.handle("bare/notes"), vec![b'x'; 25 * 1024 * 1024]);
    let ours = create(&yard, &root, bytes.clone());
    let floor: Timed<'_> = Box::new(|| floors::write_and_hash(&bare, &bytes));
    let title = "create, tmpfs, 25 MiB, to write and sha256";
    measure(criterion, Row { name: title.into(), target: "≤ 1.15", floor: Some(floor), ours });
}

const THREADS: usize = 8;
const EACH: usize = 4;

const GROUP: usize = 50;

/// Creates many files, and answers how long that took.
type CreateAll = fn(&Root, &[VaultPath]) -> Duration;

/// Many files in some way beside as many one by one.
fn many(
    criterion: &mut Criterion,
    place: &Path,
    count: usize,
    title: &str,
    target: &'static str,
    way: CreateAll,
) {
    let yard = Yard::new(place, 10);
    let root = yard.root();
    let paths: Vec<_> = (0..count).map(|n| name(&format!("notes/new {n}.md"))).collect();
    let files: Vec<_> = paths.iter().map(|path| yard.path("vault").join(path.as_str())).collect();
    let timed = |way: CreateAll| {
        let took = way(&root, &paths);
        remove(&files);
        took
    };
    let floor: Timed<'_> = Box::new(|| timed(one_by_one));
    let ours = Box::new(|| timed(way));
    measure(criterion, Row { name: title.into(), target, floor: Some(floor), ours });
}

fn one_by_one(root: &Root, paths: &[VaultPath]) -> Duration {
    paths.iter().map(|path| create_once(root, path, vec![b'x'; NOTE])).sum()
}

fn together(root: &Root, paths: &[VaultPath]) -> Duration {
    let contents: Vec<_> = paths.iter().map(|_| Content::Bytes(vec![b'x'; NOTE])).collect();
    let start = Instant::now();
    let places = paths.iter().map(|path| root.place(path, Lookup::Create).unwrap());
    for created in root.create_many(places.zip(contents).collect()) {
        std::hint::black_box(created.unwrap());
    }
    start.elapsed()
}

fn in_threads(root: &Root, paths: &[VaultPath]) -> Duration {
    let start = Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for share in paths.chunks(EACH) {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for path in share {
                    create_once(root, path, vec![b'x'; NOTE]);
                }
                start.wait();
            });
        }
        start.wait();
        let began = Instant::now();
        start.wait();
        began.elapsed()
    })
}

fn remove(files: &[PathBuf]) {
    for file in files {
        std::fs::remove_file(file).unwrap();
    }
}
