//! The one key by which two names are the same to a person: NFC, then full Unicode case folding.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The text in NFC; borrowed when it already is.
pub fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// The two texts are one in NFC.
pub fn same_nfc(a: &str, b: &str) -> bool {
    a == b || nfc(a) == nfc(b)
}

/// The compare key of a name: NFC, full case fold, NFC again (folding can decompose).
pub fn key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String = caseless::default_case_fold_str(&nfc(text));
    nfc(&folded).into_owned()
}

/// A name whose twins among many others are looked for.
pub struct Folded<'a> {
    text: &'a str,
    key: String,
}

impl<'a> Folded<'a> {
    /// Folds the name once.
    pub fn new(text: &'a str) -> Self {
        Self { text, key: key(text) }
    }

    /// The other name is this one, or differs from it only in normalisation or case.
    pub fn matches(&self, other: &str) -> bool {
        if other.is_ascii() {
            return other.eq_ignore_ascii_case(&self.key);
        }
        key(other) == self.key
    }

    /// The other name is this one in NFC.
    pub fn matches_nfc(&self, other: &str) -> bool {
        same_nfc(self.text, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_accent_are_one() {
        assert!(same_nfc("café.md", "cafe\u{301}.md"));
        assert!(!same_nfc("café.md", "Café.md"));
    }

    #[test]
    fn case_twins_match_in_full_folding() {
        for (a, b) in [("a.md", "A.md"), ("Straße", "STRASSE"), ("ΣΑΣ", "σας"), ("k", "\u{212A}")] {
            assert!(Folded::new(a).matches(b), "{a} {b}");
            assert!(Folded::new(b).matches(a), "{b} {a}");
        }
        assert!(!Folded::new("a.md").matches("b.md"));
    }

    #[test]
    fn an_accent_in_either_spelling_and_case_matches() {
        assert!(Folded::new("CAFE\u{301}").matches("café"));
    }
}
