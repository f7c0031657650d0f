//! Guarded replacements at full durability.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use criterion::Criterion;
use vaultwright::{
    fs::{Content, Expect, Lookup, Root},
    text::ContentHash,
};

use crate::{
    floors::Bare,
    rows::{Row, Timed, measure},
    yard::{Image, NOTE, Yard, memory, name},
};

pub(crate) fn bench(criterion: &mut Criterion) {
    for notes in [10, 1000] {
        let title = format!("guarded replace, tmpfs, {notes} notes, same calls");
        beside(criterion, &memory(), &title, "≤ 1.15", notes, Bare::replace);
    }
    let Some(image) = Image::ext4() else { return };
    let title = "guarded replace, ext4 loop, 10 notes, shortest";
    beside(criterion, &image.path(), title, "≤ 1.10", 10, Bare::shortest_replace);
}

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
    bare.put_incumbent();
    std::fs::write(yard.path("vault/notes/old.md"), vec![b'x'; NOTE]).unwrap();
    let floor: Timed<'_> = Box::new(|| floor(&mut bare));
    let ours = replace(&root);
    measure(criterion, Row { name: title.into(), target, floor: Some(floor), ours });
}

/// Two contents take turns.
fn replace(root: &Root) -> Timed<'_> {
    let path = name("notes/old.md");
    let contents = [vec![b'x'; NOTE], vec![b'y'; NOTE]];
    let hashes = [ContentHash::of(&contents[0]), ContentHash::of(&contents[1])];
    let mut there = 0;
    Box::new(move || {
        let content = Content::Bytes(contents[1 - there].clone());
        let start = Instant::now();
        let place = root.place(&path, Lookup::Create).unwrap();
        std::hint::black_box(root.write(place, content, Expect::Hash(hashes[there])).unwrap());
        let took = start.elapsed();
        there = 1 - there;
        took
    })
}
