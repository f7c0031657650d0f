//! Guarded replacements against another program that edits, renames over, holds open, deletes or moves the file.
//!
//! Each round puts a new file at the name, lets the other program act at a random instant around one replacement bound
//! to that file's bytes, and then asks whether everything that program says it saved is still to be had: at the name,
//! or kept in the history. The same rounds with the protection off must lose something.

use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags};
use vaultwright::{
    error::{Error, WriteError},
    fs::{
        Expect, Root,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    text::ContentHash,
};

use crate::{
    adversary::{Arena, Dice, Worker, alone, meet, soon},
    bench_vault::write,
    foreign::{Deed, text_of},
};

/// How our side replaces the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The write path.
    Guarded,
    /// Compare the bytes, then rename a new file over the name: what careful programs do.
    VerifyThenRename,
    /// Swap, compare what came out, swap back if need be; nothing tells of a descriptor that is still open.
    ExchangeWithoutLease,
}

/// A race: who does what, how often, and where.
struct Race {
    deed: Deed,
    way: Way,
    arena: Arena,
    root: Root,
    dice: Dice,
    /// The kernel calls of one guarded replacement.
    steps: Vec<Step>,
    /// How long one replacement takes when nobody is in its way.
    typical: Duration,
}

/// Our side stops for up to this long at one random point of each replacement, as when its processor is taken away.
const STOP: Duration = Duration::from_micros(300);

/// What came of the rounds of a race.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    committed: u64,
    /// The other program's bytes were seen before anything was swapped in.
    stale: u64,
    raced: u64,
    parked: u64,
    /// Rounds after which something the other program saved was nowhere, or something it removed was back.
    lost: u64,
    losses: Vec<String>,
}

impl Tally {
    fn count(&mut self, end: End) {
        match end {
            End::Committed => self.committed += 1,
            End::Stale => self.stale += 1,
            End::Raced => self.raced += 1,
            End::Parked => self.parked += 1,
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rounds, committed, stale, raced, parked, lost, .. } = self;
        write!(
            f,
            "{rounds} rounds, {committed} committed, {stale} stale, {raced} raced, {parked} parked, {lost} lost"
        )
    }
}

/// What one replacement came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    Stale,
    Raced,
    Parked,
}

impl Race {
    fn new(deed: Deed, way: Way, arena: Arena, dice: Dice, durable: bool) -> Self {
        let root = arena.open(|config| config.durable = durable);
        let mut race = Self { deed, way, arena, root, dice, steps: Vec::new(), typical: Duration::ZERO };
        let mut times: Vec<_> = (0..11).map(|_| race.warm_up()).collect();
        times.sort();
        race.typical = times[times.len() / 2];
        race
    }

    fn warm_up(&mut self) -> Duration {
        self.arena.put("a.md", "warm\n");
        let start = Instant::now();
        let (end, steps) = fault::trace(|| self.replace("warm\n", "ours\n", &mut || {}));
        assert_eq!(end, End::Committed);
        self.steps = steps;
        start.elapsed()
    }

    fn run(mut self, rounds: u64) -> Tally {
        let mut other = Worker::start("foreign", &self.arena);
        let mut tally = Tally { rounds, ..Tally::default() };
        for round in 0..rounds {
            self.round(&mut other, round, &mut tally);
        }
        tally
    }

    fn round(&mut self, other: &mut Worker, round: u64, tally: &mut Tally) {
        let (base, ours) = (format!("base {round}\n"), format!("ours {round}\n"));
        self.arena.put("a.md", &base);
        let tokens: Vec<_> =
            (0..=self.more_saves()).map(|save| format!("{:?}.{round}.{save}", self.way)).collect();
        let stop = self.dice.time(STOP);
        let (start, span) = (soon(), self.typical * 5 / 4 + stop);
        let theirs = start + self.dice.time(span).as_nanos();
        let gap = self.dice.time(span).as_nanos();
        other.tell(&format!("{} {theirs} {gap} {}", self.deed.word(), tokens.join(",")));
        meet(&start.to_string());
        let end = self.replace_with_stop(&base, &ours, stop);
        let saved = other.answer();
        let saved: Vec<_> = saved.split(',').filter(|token| !token.is_empty()).collect();
        tally.count(end);
        if !self.is_intact(&saved, end, &ours) {
            tally.lost += 1;
            let (there, moved) = (self.arena.text("a.md"), self.arena.text("moved.md"));
            let facts = format!("saved {saved:?}, {end:?}, there {there:?}, moved {moved:?}");
            tally.losses.push(format!("round {round}: {facts}"));
        }
        remove(&self.arena, "moved.md");
    }

    /// One replacement that stops at one of its steps.
    fn replace_with_stop(&mut self, base: &str, ours: &str, stop: Duration) -> End {
        if self.way != Way::Guarded {
            let mut ahead = self.dice.below(5);
            return self.replace(base, ours, &mut || {
                if ahead == 0 {
                    std::thread::sleep(stop);
                }
                ahead = ahead.wrapping_sub(1);
            });
        }
        let at = usize::try_from(self.dice.below(self.steps.len() as u64)).unwrap();
        let halted = self.steps[at];
        let nth = self.steps[..at].iter().filter(|before| **before == halted).count();
        let _armed = fault::arm(halted, nth, Action::Run(Box::new(move || std::thread::sleep(stop))));
        self.replace(base, ours, &mut || {})
    }

    fn more_saves(&mut self) -> u64 {
        let saves = matches!(self.deed, Deed::Rewrite | Deed::RenameOver | Deed::HoldOpen);
        if saves { self.dice.below(3) } else { 0 }
    }

    /// `breathe` is called between the steps of the controls.
    fn replace(&self, base: &str, ours: &str, breathe: &mut dyn FnMut()) -> End {
        match self.way {
            Way::Guarded => {
                let expect = Expect::Hash(ContentHash::of(base.as_bytes()));
                guarded_end(write(&self.root, "a.md", ours.as_bytes(), expect))
            }
            Way::VerifyThenRename => committed(verify_then_rename(&self.arena, base, ours, breathe)),
            Way::ExchangeWithoutLease => committed(exchange_without_lease(&self.arena, base, ours, breathe)),
        }
    }

    /// Everything that was saved is to be had, and nothing that was removed is back.
    fn is_intact(&self, saved: &[&str], end: End, ours: &str) -> bool {
        let arena = &self.arena;
        let there = arena.text("a.md");
        match self.deed {
            // The last save stands for those before it, which the same program replaced.
            Deed::Rewrite | Deed::RenameOver => {
                saved.last().is_some_and(|token| is_kept(arena, there.as_ref(), token))
            }
            Deed::Recreate => saved.len() == 1 && is_kept(arena, there.as_ref(), saved[0]),
            Deed::HoldOpen => saved.iter().all(|token| is_kept(arena, there.as_ref(), token)),
            Deed::Delete => there.is_none(),
            Deed::Move => {
                let moved_ours = arena.text("moved.md").is_some_and(|moved| moved == ours);
                there.is_none() && moved_ours == (end == End::Committed)
            }
        }
    }
}

fn is_kept(arena: &Arena, there: Option<&String>, token: &str) -> bool {
    let text = text_of(token);
    there.is_some_and(|there| there.contains(&text))
        || arena.history().iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(&text))
}

fn guarded_end<T: std::fmt::Debug>(result: Result<T, Error>) -> End {
    match result {
        Ok(_) => End::Committed,
        Err(Error::Write(WriteError::ConcurrentWrite { parked_at: Some(_), .. })) => End::Parked,
        Err(Error::Write(WriteError::ConcurrentWrite { .. })) => End::Raced,
        Err(error) => {
            let seen_before = ["stale_precondition", "no_incumbent", "file_changing"];
            assert!(seen_before.contains(&error.name().as_str()), "{error}");
            End::Stale
        }
    }
}

const fn committed(done: bool) -> End {
    if done { End::Committed } else { End::Stale }
}

fn remove(arena: &Arena, name: &str) {
    match std::fs::remove_file(arena.path(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
}

/// The control of most races: nothing stands between the look and the rename.
fn verify_then_rename(arena: &Arena, base: &str, ours: &str, breathe: &mut dyn FnMut()) -> bool {
    let staged = arena.outside("staged");
    breathe();
    if arena.text("a.md").as_deref() != Some(base) {
        return false;
    }
    breathe();
    std::fs::write(&staged, ours).unwrap();
    breathe();
    std::fs::rename(staged, arena.path("a.md")).unwrap();
    breathe();
    true
}

/// The control of the race with a held descriptor: all but the lease.
fn exchange_without_lease(arena: &Arena, base: &str, ours: &str, breathe: &mut dyn FnMut()) -> bool {
    let (staged, name) = (arena.outside("staged"), arena.path("a.md"));
    let exchange = || rustix::fs::renameat_with(CWD, &staged, CWD, &name, RenameFlags::EXCHANGE).unwrap();
    if arena.text("a.md").as_deref() != Some(base) {
        return false;
    }
    breathe();
    std::fs::write(&staged, ours).unwrap();
    breathe();
    exchange();
    breathe();
    let held = std::fs::read_to_string(&staged).unwrap() == base;
    breathe();
    if !held {
        exchange();
    }
    std::fs::remove_file(&staged).unwrap();
    held
}

/// `VAULTWRIGHT_ROUNDS`: 1500 by hand.
fn rounds() -> u64 {
    std::env::var("VAULTWRIGHT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(500)
}

/// Three times the rounds on tmpfs, nothing lost; the same with the protection off, something lost.
fn race_in_memory(name: &str, deed: Deed, control: Way) {
    let _turn = alone();
    let mut lost_by_control = 0;
    for _ in 0..3 {
        let run = |way| Race::new(deed, way, Arena::in_memory(), Dice::new(name), false).run(rounds());
        let (tally, bare) = (run(Way::Guarded), run(control));
        crate::need::say(&format!("{name}: {tally}; control {control:?}: {bare}"));
        assert!(tally.lost == 0, "{:#?}", tally.losses);
        assert!(tally.committed < tally.rounds, "the other program never came first");
        lost_by_control += bare.lost;
    }
    assert!(lost_by_control > 0, "{name}: the control must lose");
}

/// With every flush, where the default folder for scratch files is.
fn race_on_disk(name: &str, deed: Deed) {
    let _turn = alone();
    let tally = Race::new(deed, Way::Guarded, Arena::on_disk(), Dice::new(name), true).run(200);
    crate::need::say(&format!("{name}: {tally}"));
    assert!(tally.lost == 0, "{:#?}", tally.losses);
}

#[test]
fn no_rewrite_in_place_is_lost() {
    race_in_memory("R2", Deed::Rewrite, Way::VerifyThenRename);
}

#[test]
fn no_file_renamed_over_the_name_is_lost() {
    race_in_memory("R3", Deed::RenameOver, Way::VerifyThenRename);
}

#[test]
fn nothing_written_through_a_held_descriptor_is_lost() {
    race_in_memory("R4", Deed::HoldOpen, Way::ExchangeWithoutLease);
}

#[test]
fn a_deleted_file_is_not_resurrected() {
    race_in_memory("R5 delete", Deed::Delete, Way::VerifyThenRename);
}

#[test]
fn a_moved_file_is_not_resurrected_and_moves_with_the_bytes_it_had() {
    race_in_memory("R5 move", Deed::Move, Way::VerifyThenRename);
}

#[test]
fn a_file_deleted_and_made_again_is_kept() {
    race_in_memory("R5 recreate", Deed::Recreate, Way::VerifyThenRename);
}

#[test]
fn nothing_is_lost_on_disk_with_every_flush() {
    race_on_disk("R2 disk", Deed::Rewrite);
    race_on_disk("R3 disk", Deed::RenameOver);
    race_on_disk("R4 disk", Deed::HoldOpen);
}
