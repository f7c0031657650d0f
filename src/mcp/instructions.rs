//! What every client is told once, most important first. ASCII, since some clients count bytes.

use crate::path::{PathPolicy, policy::Scopes};

/// Clients cut there.
const CAP: usize = 2_048;

const FAMILY: &str = "\
This server works on the folders of Obsidian vaults themselves; Obsidian need not run.

Paths are relative to the vault, with `/` between names and with extension: `Folder/Note.md`. Names that start \
with a dot are refused.

To change a file: read it with `read_file`, take its `hash`, and send that as `expected_hash` of `write_file` \
with `overwrite: true`. If the file changed in between, nothing is written: read it again. Without `overwrite` \
nothing is ever replaced. `dry_run: true` shows what a write would change.

`vault_list` shows the known vaults and `vault_select` chooses one for this connection; `vaultPath` on a call \
names the vault for that call alone and always works.";

const READ_ONLY: &str = "This server is read-only: files can be read, nothing can be written.";

/// How many entries of a list are named.
const NAMED: usize = 10;

/// The instructions under a policy. No text of a note and no withheld path ever stands here.
pub(super) fn text(policy: &PathPolicy) -> String {
    let mut paragraphs = vec![FAMILY.to_owned()];
    if policy.is_read_only() {
        paragraphs.push(READ_ONLY.to_owned());
    }
    if policy.has_lists() {
        paragraphs.push(scopes(&policy.scopes()));
    }
    let mut text = ascii(&paragraphs.join("\n\n"));
    text.truncate(CAP);
    text
}

fn scopes(scopes: &Scopes) -> String {
    let scope = |entries: &Option<Vec<String>>| {
        let named = match entries.as_deref() {
            Some([]) => return "none".to_owned(),
            Some(entries) => list(entries),
            None => "the whole vault".to_owned(),
        };
        let withheld = if scopes.withholds { ", except paths the operator withholds" } else { "" };
        named + withheld
    };
    format!("Readable: {}. Writable: {}.", scope(&scopes.readable), scope(&scopes.writable))
}

fn list(entries: &[String]) -> String {
    match entries.split_at_checked(NAMED) {
        Some((named, rest)) if !rest.is_empty() => format!("{} and {} more", named.join(", "), rest.len()),
        _ => entries.join(", "),
    }
}

fn ascii(text: &str) -> String {
    let escape = |letter: char| {
        if letter.is_ascii() { letter.to_string() } else { letter.escape_unicode().to_string() }
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes_of(read: Option<&[&str]>, write: Option<&[&str]>, withholds: bool) -> String {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        scopes(&Scopes { readable: read.map(owned), writable: write.map(owned), withholds })
    }

    #[test]
    fn they_are_short_and_say_nothing_of_what_is_not_set() {
        let text = text(&PathPolicy::default());
        assert_eq!(text, FAMILY);
        assert!(text.len() + READ_ONLY.len() < CAP, "{}", text.len());
    }

    #[test]
    fn scopes_are_named_and_withheld_paths_are_not() {
        assert_eq!(scopes_of(Some(&["a", "b"]), Some(&["b"]), false), "Readable: a, b. Writable: b.");
        assert_eq!(
            scopes_of(None, Some(&[]), true),
            "Readable: the whole vault, except paths the operator withholds. \
             Writable: none."
        );
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let many: Vec<_> = (0..12).map(|n| n.to_string()).collect();
        assert_eq!(list(&many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
    }

    #[test]
    fn no_client_counts_more_bytes_than_letters() {
        assert_eq!(ascii("Caf\u{e9}"), "Caf\\u{e9}");
    }
}
