//! Near names for a miss.

use std::cmp::max;

use crate::text::fold;

/// The most names that are suggested.
const MOST: usize = 5;

/// A path as it is compared: folded, in three parts.
struct Parts {
    folder: String,
    stem: Vec<char>,
    extension: String,
}

/// The paths nearest to a wanted one, nearest first, at most five.
///
/// The same file name in another spelling, folder or with another extension is near; so is a name of which about a
/// third or less must be changed. The caller gives only paths that may be named.
pub fn near<'a>(wanted: &str, paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = Parts::of(wanted);
    let mut found: Vec<_> =
        paths.into_iter().filter_map(|path| Some((wanted.distance(&Parts::of(path))?, path))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(MOST).map(|(_, path)| path.to_owned()).collect()
}

impl Parts {
    fn of(path: &str) -> Self {
        let key = fold::key(path);
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", &key));
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        Self { folder: folder.to_owned(), stem: stem.chars().collect(), extension: extension.to_owned() }
    }

    /// How many changes lead from one to the other; none when that is too many to be a slip.
    fn distance(&self, other: &Self) -> Option<usize> {
        let allowed = max(self.stem.len(), other.stem.len()) / 3;
        if self.stem.len().abs_diff(other.stem.len()) > allowed {
            return None;
        }
        let changes = edits(&self.stem, &other.stem);
        let moved = usize::from(self.folder != other.folder) + usize::from(self.extension != other.extension);
        (changes <= allowed).then_some(2 * changes + moved)
    }
}

/// The Levenshtein distance: letters to insert, delete or exchange.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.iter().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (column, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = exchanged.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_every_kind_are_found_nearest_first() {
        let paths =
            ["Daily/2026-11-30.md", "Projects/Garden.md", "Projects/Gardens.md", "Garden.md", "Zebra.md"];
        for (wanted, expected) in [
            ("projects/garden.md", &["Projects/Garden.md", "Garden.md", "Projects/Gardens.md"][..]),
            ("Projects/Gardne.md", &["Projects/Garden.md", "Projects/Gardens.md", "Garden.md"]),
            ("Projects/Garden", &["Projects/Garden.md", "Garden.md", "Projects/Gardens.md"]),
            ("Daily/2026-11-29.md", &["Daily/2026-11-30.md"]),
            ("Nothing like it.md", &[]),
        ] {
            assert_eq!(near(wanted, paths), expected, "{wanted}");
        }
    }

    #[test]
    fn both_spellings_of_an_accent_are_the_same_name() {
        assert_eq!(near("cafe\u{301}.md", ["Café.md"]), ["Café.md"]);
    }

    #[test]
    fn at_most_five_are_suggested_each_once() {
        let paths: Vec<_> = (0..9).map(|n| format!("note {n}.md")).collect();
        let twice = paths.iter().chain(&paths).map(String::as_str);
        assert_eq!(near("note x.md", twice), paths[..5]);
    }

    #[test]
    fn distances_count_letters() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (from, to, distance) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("größe", "große", 1)]
        {
            assert_eq!(edits(&letters(from), &letters(to)), distance);
        }
    }
}
