//! The other program of the races: what it does to the note, and what it says it saved.

use std::{fs::OpenOptions, io::Write, time::Duration};

use crate::adversary::{Act, Arena, meet, nanos, pass};

/// What the other program does in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
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
    pub(crate) const fn word(self) -> &'static str {
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

/// The worker: `<deed> <instant> <gap> <token>,<token>…`, times in nanoseconds. Answers what it saved, token by token.
pub(crate) fn foreign(arena: Arena) -> Act {
    Box::new(move |words| {
        let [deed, at, gap, tokens] = *words else { panic!("{words:?}") };
        let (gap, tokens): (_, Vec<&str>) = (nanos(gap), tokens.split(',').collect());
        meet(at);
        let saved = match deed {
            "rewrite" => save_each(&tokens, gap, |text| std::fs::write(arena.path("a.md"), text)),
            "rename_over" => save_each(&tokens, gap, |text| {
                std::fs::write(arena.path(".a.md.swp"), text)?;
                std::fs::rename(arena.path(".a.md.swp"), arena.path("a.md"))
            }),
            "hold_open" => {
                let mut held = OpenOptions::new().append(true).open(arena.path("a.md")).unwrap();
                pass(gap);
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
        if save(&text_of(token)).is_ok() {
            saved.push((*token).to_owned());
        }
    }
    saved
}

/// What a save of that token puts.
pub(crate) fn text_of(token: &str) -> String {
    format!("foreign {token}\n")
}
