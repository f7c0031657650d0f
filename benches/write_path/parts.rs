//! Parts of operations.

use std::time::{Duration, Instant};

use criterion::Criterion;
use vaultwright::{fs::Lookup, text::ContentHash};

use crate::{
    floors::{self, Bare},
    rows::{Row, measure},
    yard::{NOTE, Yard, memory, name},
};

const LARGE: usize = 25 * 1024 * 1024;

pub(crate) fn bench(criterion: &mut Criterion) {
    hash(criterion);
    resolve(criterion);
    proof(criterion);
}

fn hash(criterion: &mut Criterion) {
    let bytes = vec![b'x'; LARGE];
    let ours = Box::new(|| {
        let start = Instant::now();
        std::hint::black_box(ContentHash::of(&bytes));
        start.elapsed()
    });
    measure(criterion, Row { name: "sha256 25 MiB".into(), target: "≤ 40 ms", floor: None, ours });
}

fn resolve(criterion: &mut Criterion) {
    let yard = Yard::new(&memory(), 0);
    for side in ["vault", "bare"] {
        std::fs::create_dir_all(yard.path(side).join("a/b/c/d")).unwrap();
        std::fs::write(yard.path(side).join("a/b/c/d/note.md"), "text\n").unwrap();
    }
    let (root, bare, path) = (yard.root(), yard.handle("bare"), name("a/b/c/d/note.md"));
    let floor: Box<dyn FnMut() -> Duration> = Box::new(|| floors::open_deep(&bare));
    let ours = Box::new(|| {
        let start = Instant::now();
        drop(root.place(&path, Lookup::Read).unwrap());
        start.elapsed()
    });
    let title = "resolve, depth 4, to openat2 (ours looks the name up too)";
    measure(criterion, Row { name: title.into(), target: "≤ 1.5", floor: Some(floor), ours });
}

fn proof(criterion: &mut Criterion) {
    let yard = Yard::new(&memory(), 0);
    std::fs::write(yard.path("bare/notes/old.md"), vec![b'x'; NOTE]).unwrap();
    let old = yard.handle("bare/notes/old.md");
    let ours = Box::new(|| Bare::proof(&old));
    measure(
        criterion,
        Row { name: "lease and second hash of 4 KiB".into(), target: "≤ 5 µs", floor: None, ours },
    );
}
