//! Guarded replacements against another program that edits, renames over, holds open, deletes or moves the file.
//!
//! Each round puts a new file at the name, lets the other program act at a random instant around one replacement bound
//! to that file's bytes, and then asks whether everything that program says it saved is still to be had: at the name,
//! or kept in the history. The same rounds with the protection off must lose something.

use std::{
    fs::OpenOptions,
    io::Write,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, RenameFlags};
use vaultwright::{
    error::{Error, WriteError},
    fs::{Expect, Root},
    text::ContentHash,
};

use crate::{
    adversary::{Act, Arena, Dice, Worker, alone, nanos, pass},
    bench_vault::write,
};

/// What the other program does in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Truncates and writes in place, one to three times.
    Rewrite,
    /// Writes another file and renames it over the name, one to three times.
    RenameOver,
    /// Opens to append, and writes pieces through that descriptor at random, whatever became of the name.
    HoldOpen,
    Delete,
    Move,
    /// Deletes, and makes a file of that name.
    Recreate,
}

impl Deed {
    const fn word(self) -> &'static str {
        match self {
            Self::Rewrite => "rewrite",
            Self::RenameOver => "rename_over",
            Self::HoldOpen => "hold_open",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Recreate => "recreate",
        }
    }
}

/// The worker: `<deed> <delay> <gap> <token>,<token>…`, times in nanoseconds. Answers what it saved, token by token.
pub(crate) fn foreign(arena: Arena) -> Act {
    Box::new(move |words| {
        let [deed, delay, gap, tokens] = *words else { panic!("{words:?}") };
        let (gap, tokens): (_, Vec<&str>) = (nanos(gap), tokens.split(',').collect());
        pass(nanos(delay));
        let saved = match deed {
            "rewrite" => save_each(&tokens, gap, |text| std::fs::write(arena.path("a.md"), text)),
            "rename_over" => save_each(&tokens, gap, |text| {
                std::fs::write(arena.path(".a.md.swp"), text)?;
                std::fs::rename(arena.path(".a.md.swp"), arena.path("a.md"))
            }),
            "hold_open" => {
                let mut held = OpenOptions::new().append(true).open(arena.path("a.md")).unwrap();
                let saved = save_each(&tokens, gap, |text| held.write_all(text.as_bytes()));
                pass(gap);
                saved
            }
            "delete" => save_each(&tokens, gap, |_| std::fs::remove_file(arena.path("a.md"))),
            "move" => {
                save_each(&tokens, gap, |_| std::fs::rename(arena.path("a.md"), arena.path("moved.md")))
            }
            "recreate" => save_each(&tokens, gap, |text| recreate(&arena, gap, text)),
            other => panic!("{other}"),
        };
        saved.join(",")
    })
}

fn recreate(arena: &Arena, gap: Duration, text: &str) -> std::io::Result<()> {
    std::fs::remove_file(arena.path("a.md"))?;
    pass(gap);
    OpenOptions::new().write(true).create_new(true).open(arena.path("a.md"))?.write_all(text.as_bytes())
}

/// Saves a text for each token, with a pause between; answers the tokens whose save succeeded.
fn save_each(
    tokens: &[&str],
    gap: Duration,
    mut save: impl FnMut(&str) -> std::io::Result<()>,
) -> Vec<String> {
    let mut saved = Vec::new();
    for (number, token) in tokens.iter().enumerate() {
        if number > 0 {
            pass(gap);
        }
        if save(&foreign_text(token)).is_ok() {
            saved.push((*token).to_owned());
        }
    }
    saved
}

fn foreign_text(token: &str) -> String {
    format!("foreign {token}\n")
}

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

struct Race {
    deed: Deed,
    way: Way,
    rounds: u64,
    durable: bool,
}

/// What came of the rounds of a race.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    committed: u64,
    refused: u64,
    parked: u64,
    /// Rounds after which something the other program saved was nowhere, or something it removed was back.
    lost: u64,
}

/// What one replacement came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    Refused,
    Parked,
}

impl Race {
    fn run(&self, arena: &Arena, dice: &mut Dice) -> Tally {
        let root = arena.open(|config| config.durable = self.durable);
        let mut other = Worker::start("foreign", arena);
        let span = self.typical_time(arena, &root) * 3 / 2;
        let mut tally = Tally::default();
        for round in 0..self.rounds {
            self.round(arena, &root, &mut other, dice, span, round, &mut tally);
        }
        tally
    }

    fn typical_time(&self, arena: &Arena, root: &Root) -> Duration {
        let mut times: Vec<_> = (0..21)
            .map(|_| {
                arena.put("a.md", "warm\n");
                let start = Instant::now();
                assert_eq!(self.replace(arena, root, "warm\n", "ours\n"), End::Committed);
                start.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    }

    #[expect(clippy::too_many_arguments, reason = "one round of a loop, named")]
    fn round(
        &self,
        arena: &Arena,
        root: &Root,
        other: &mut Worker,
        dice: &mut Dice,
        span: Duration,
        round: u64,
        tally: &mut Tally,
    ) {
        let (base, ours) = (format!("base {round}\n"), format!("ours {round}\n"));
        arena.put("a.md", &base);
        let tokens: Vec<_> =
            (0..=self.more_saves(dice)).map(|save| format!("{:?}.{round}.{save}", self.way)).collect();
        let (delay, gap) = (dice.time(span), dice.time(span / 2));
        other.tell(&format!(
            "{} {} {} {}",
            self.deed.word(),
            delay.as_nanos(),
            gap.as_nanos(),
            tokens.join(",")
        ));
        pass(dice.time(Duration::from_micros(150)));
        let end = self.replace(arena, root, &base, &ours);
        let saved = other.answer();
        let saved: Vec<_> = saved.split(',').filter(|token| !token.is_empty()).collect();
        tally.rounds += 1;
        match end {
            End::Committed => tally.committed += 1,
            End::Refused => tally.refused += 1,
            End::Parked => tally.parked += 1,
        }
        let intact = self.is_intact(arena, &saved, end, &ours);
        tally.lost += u64::from(!intact);
        if !intact && self.way == Way::Guarded {
            let (there, moved) = (arena.text("a.md"), arena.text("moved.md"));
            eprintln!("round {round}: saved {saved:?}, {end:?}, there {there:?}, moved {moved:?}");
        }
        remove(arena, "moved.md");
    }

    fn more_saves(&self, dice: &mut Dice) -> u64 {
        if matches!(self.deed, Deed::Rewrite | Deed::RenameOver | Deed::HoldOpen) { dice.below(3) } else { 0 }
    }

    fn replace(&self, arena: &Arena, root: &Root, base: &str, ours: &str) -> End {
        match self.way {
            Way::Guarded => {
                let expect = Expect::Hash(ContentHash::of(base.as_bytes()));
                guarded_end(write(root, "a.md", ours.as_bytes(), expect))
            }
            Way::VerifyThenRename => committed(verify_then_rename(arena, base, ours)),
            Way::ExchangeWithoutLease => committed(exchange_without_lease(arena, base, ours)),
        }
    }

    /// Everything that was saved is to be had, and nothing that was removed is back.
    fn is_intact(&self, arena: &Arena, saved: &[&str], end: End, ours: &str) -> bool {
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
    let text = foreign_text(token);
    there.is_some_and(|there| there.contains(&text))
        || arena.history().iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(&text))
}

fn guarded_end<T: std::fmt::Debug>(result: Result<T, Error>) -> End {
    match result {
        Ok(_) => End::Committed,
        Err(Error::Write(WriteError::ConcurrentWrite { parked_at: Some(_), .. })) => End::Parked,
        Err(Error::Write(
            WriteError::ConcurrentWrite { .. }
            | WriteError::StalePrecondition { .. }
            | WriteError::NoIncumbent { .. },
        )) => End::Refused,
        Err(error) => {
            assert_eq!(error.name(), "file_changing", "{error}");
            End::Refused
        }
    }
}

const fn committed(done: bool) -> End {
    if done { End::Committed } else { End::Refused }
}

fn remove(arena: &Arena, name: &str) {
    match std::fs::remove_file(arena.path(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
}

/// The control of most races: nothing stands between the look and the rename.
fn verify_then_rename(arena: &Arena, base: &str, ours: &str) -> bool {
    let staged = arena.outside("staged");
    if arena.text("a.md").as_deref() != Some(base) {
        return false;
    }
    std::fs::write(&staged, ours).unwrap();
    std::fs::rename(staged, arena.path("a.md")).unwrap();
    true
}

/// The control of the race with a held descriptor: all but the lease.
fn exchange_without_lease(arena: &Arena, base: &str, ours: &str) -> bool {
    let (staged, name) = (arena.outside("staged"), arena.path("a.md"));
    let exchange = || rustix::fs::renameat_with(CWD, &staged, CWD, &name, RenameFlags::EXCHANGE).unwrap();
    if arena.text("a.md").as_deref() != Some(base) {
        return false;
    }
    std::fs::write(&staged, ours).unwrap();
    exchange();
    let held = std::fs::read_to_string(&staged).unwrap() == base;
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
    let mut dice = Dice::new(name);
    let mut lost_by_control = 0;
    for _ in 0..3 {
        let tally = Race { deed, way: Way::Guarded, rounds: rounds(), durable: false }
            .run(&Arena::in_memory(), &mut dice);
        let bare =
            Race { deed, way: control, rounds: rounds(), durable: false }.run(&Arena::in_memory(), &mut dice);
        eprintln!("{name}: {tally:?}\n{name}, control {control:?}: {bare:?}");
        assert_eq!(tally.lost, 0);
        assert!(tally.committed < tally.rounds, "the other program never came first");
        lost_by_control += bare.lost;
    }
    assert!(lost_by_control > 0, "{name}: the control must lose");
}

/// With every flush, where the default folder for scratch files is.
fn race_on_disk(name: &str, deed: Deed) {
    let _turn = alone();
    let tally = Race { deed, way: Way::Guarded, rounds: 200, durable: true }
        .run(&Arena::on_disk(), &mut Dice::new(name));
    eprintln!("{name}: {tally:?}");
    assert_eq!(tally.lost, 0);
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
