//! A validated path of a file in a vault.

use std::fmt;

use crate::{
    error::{PathError, PathProblem},
    text::fold,
};

/// The longest name of one file or folder, in bytes (`NAME_MAX`).
const COMPONENT_MAX: usize = 255;
/// The longest whole path, in bytes (`PATH_MAX` less its final zero).
const PATH_MAX: usize = 4095;

/// A path relative to the vault, `/` between its names.
///
/// It names a file lexically inside the vault, visibly: no empty, dot or dot-dot segment, no name that starts with
/// a dot, no control character, no name over 255 bytes. The spelling of the caller is kept; `\` reads as `/` and
/// doubled slashes are one. What lies at the path on disk is another question (`fs::resolve`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultPath(String);

impl VaultPath {
    /// Parses what a caller sent.
    pub fn parse(given: &str) -> Result<Self, PathError> {
        let invalid = |problem| PathError::PathInvalid { path: given.to_owned(), problem };
        if given.is_empty() {
            return Err(invalid(PathProblem::Empty));
        }
        if given.chars().any(char::is_control) {
            return Err(invalid(PathProblem::Control));
        }
        let slashed = given.replace('\\', "/");
        if is_absolute(&slashed) {
            return Err(PathError::PathAbsolute { path: given.to_owned(), relative_path: None });
        }
        let names = || slashed.split('/').filter(|name| !name.is_empty());
        if names().any(|name| matches!(name, "." | "..")) {
            return Err(PathError::PathTraversal { path: given.to_owned() });
        }
        if names().any(|name| name.starts_with('.')) {
            return Err(PathError::HiddenPath { path: given.to_owned() });
        }
        if let Some(problem) = length_problem(&slashed, names()) {
            return Err(invalid(problem));
        }
        if slashed.ends_with('/') {
            return Err(invalid(PathProblem::TrailingSlash));
        }
        Ok(Self(names().collect::<Vec<_>>().join("/")))
    }

    /// Builds the path of a name found on disk beneath a folder that was itself reached by a valid path.
    pub fn found(folder: &str, name: &str) -> Self {
        if folder.is_empty() { Self(name.to_owned()) } else { Self([folder, "/", name].concat()) }
    }

    /// The whole path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder, empty for a file at the root.
    pub fn parent(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// The last name.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// The folders on the way, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.parent().split('/').filter(|name| !name.is_empty())
    }

    /// The extension in lower case, without its dot; none for a name that has none.
    pub fn extension(&self) -> Option<String> {
        self.name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ext)| ext.to_lowercase())
    }
}

pub(super) fn is_absolute(slashed: &str) -> bool {
    let drive = matches!(slashed.as_bytes(), [letter, b':', b'/', ..] | [letter, b':'] if letter.is_ascii_alphabetic());
    slashed.starts_with('/') || drive
}

/// Lengths are judged in NFC, the form in which a new name is made.
fn length_problem<'a>(slashed: &str, mut names: impl Iterator<Item = &'a str>) -> Option<PathProblem> {
    if names.any(|name| fold::nfc(name).len() > COMPONENT_MAX) {
        return Some(PathProblem::ComponentTooLong);
    }
    (slashed.len() > PATH_MAX).then_some(PathProblem::TooLong)
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn reason(given: &str) -> String {
        Error::from(VaultPath::parse(given).unwrap_err()).name()
    }

    #[test]
    fn slashes_of_both_kinds_separate_names() {
        let path = VaultPath::parse("Projects\\2026//plan.md").unwrap();
        assert_eq!(path.as_str(), "Projects/2026/plan.md");
        assert_eq!((path.parent(), path.name()), ("Projects/2026", "plan.md"));
        assert_eq!(path.folders().collect::<Vec<_>>(), ["Projects", "2026"]);
    }

    #[test]
    fn what_no_vault_can_hold_is_refused_with_its_reason() {
        let long = "é".repeat(128);
        let deep = "a/".repeat(2048) + "b";
        for (given, expected) in [
            ("", "path_invalid"),
            ("a\0b", "path_invalid"),
            ("a\nb.md", "path_invalid"),
            ("a\u{85}b.md", "path_invalid"),
            ("folder/", "path_invalid"),
            (&long, "path_invalid"),
            (&deep, "path_invalid"),
            ("../x", "path_traversal"),
            ("a/./b", "path_traversal"),
            ("a\\..\\b", "path_traversal"),
            (".obsidian/../x", "path_traversal"),
            ("/etc/passwd", "path_absolute"),
            ("\\\\server\\share", "path_absolute"),
            ("C:\\x.md", "path_absolute"),
            ("C:", "path_absolute"),
            (".obsidian/app.json", "hidden_path"),
            ("a/.git/config", "hidden_path"),
            (".env", "hidden_path"),
        ] {
            assert_eq!(reason(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_name_of_255_bytes_in_either_spelling_is_taken() {
        let composed = "é".repeat(127) + "x";
        let decomposed = "e\u{301}".repeat(127) + "x";
        assert!(VaultPath::parse(&composed).is_ok());
        assert!(VaultPath::parse(&decomposed).is_ok());
    }

    #[test]
    fn names_that_only_look_odd_are_taken() {
        for given in
            ["a..b.md", "...x".trim_start_matches('.'), "note (1).md", "a: b.md", "naïve 😀.md", "ab:/c"]
        {
            assert!(VaultPath::parse(given).is_ok(), "{given}");
        }
    }

    #[test]
    fn the_extension_is_that_of_the_last_name() {
        assert_eq!(VaultPath::parse("a.b/c.PDF").unwrap().extension().as_deref(), Some("pdf"));
        assert_eq!(VaultPath::parse("a.b/c").unwrap().extension(), None);
    }
}
