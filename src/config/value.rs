//! How the text of one setting is read.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

use super::ConfigError;

/// A setting as it was given, with the name an error needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    variable: &'static str,
    value: Option<&'a str>,
}

/// The text of a setting that is set: empty text and an unfilled `${...}` are not.
pub(super) fn given(value: &str) -> Option<&str> {
    let value = value.trim();
    let inside = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let placeholder = inside.is_some_and(|inside| !inside.contains('}'));
    (!value.is_empty() && !placeholder).then_some(value)
}

impl<'a> Given<'a> {
    /// A setting by the variable that sets it.
    pub(super) fn new(variable: &'static str, value: Option<&'a String>) -> Self {
        Self { variable, value: value.and_then(|value| given(value)) }
    }

    /// The text; none when it is unset.
    pub(super) const fn text(self) -> Option<&'a str> {
        self.value
    }

    /// A yes or no.
    pub(super) fn boolean(self, default: bool) -> Result<bool, ConfigError> {
        match self.value.map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true" | "1" | "yes" | "on") => Ok(true),
            Some("false" | "0" | "no" | "off") => Ok(false),
            Some(_) => Err(self.refuse("must be one of true, false, 1, 0, yes, no, on, off")),
        }
    }

    /// A whole number within bounds.
    pub(super) fn number<N: FromStr + PartialOrd + Display>(
        self,
        default: N,
        bounds: RangeInclusive<N>,
    ) -> Result<N, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        let number = value.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| {
            self.refuse(&format!("must be a whole number from {} to {}", bounds.start(), bounds.end()))
        })
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(self, default: T, choices: &[(&str, T)]) -> Result<T, ConfigError> {
        let Some(value) = self.value else { return Ok(default) };
        let chosen = choices.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice);
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        chosen.ok_or_else(|| self.refuse(&format!("must be one of {}", words())))
    }

    /// A comma list; none when it is unset.
    pub(super) fn list(self) -> Result<Option<Vec<String>>, ConfigError> {
        let Some(value) = self.value else { return Ok(None) };
        let items: Vec<_> =
            value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
        if items.is_empty() { Err(self.refuse("is set but names nothing")) } else { Ok(Some(items)) }
    }

    /// The error of this setting, with the value it has.
    pub(super) fn refuse(self, message: &str) -> ConfigError {
        let value = self.value.unwrap_or_default();
        ConfigError::of(self.variable, format!("{message}; it is `{value}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: &str) -> Result<u64, ConfigError> {
        Given::new("MAX_HASH_BYTES", Some(&value.to_owned())).number(7, 1..=10)
    }

    #[test]
    fn empty_text_and_an_unfilled_placeholder_are_unset() {
        for value in ["", "  ", "${VAULT}", " ${user_config.vault} ", "${}", "${A:-b}"] {
            assert_eq!(given(value), None, "{value:?}");
        }
        for value in ["a", "${A}/notes", "${A}${B}", "$A", "{A}"] {
            assert_eq!(given(value), Some(value));
        }
        assert_eq!(given(" a "), Some("a"));
    }

    #[test]
    fn a_boolean_takes_eight_words_and_no_other() {
        let read = |value: &str| Given::new("OBSIDIAN_READ_ONLY", Some(&value.to_owned())).boolean(true);
        for value in ["true", "1", "yes", "on", "ON", ""] {
            assert!(read(value).unwrap(), "{value}");
        }
        for value in ["false", "0", "no", "off", "False"] {
            assert!(!read(value).unwrap(), "{value}");
        }
        let error = read("maybe").unwrap_err();
        assert_eq!(error.setting, "OBSIDIAN_READ_ONLY (--read-only)");
        assert_eq!(error.message, "must be one of true, false, 1, 0, yes, no, on, off; it is `maybe`");
    }

    #[test]
    fn a_number_keeps_its_bounds() {
        assert_eq!(number("").unwrap(), 7);
        assert_eq!(number("10").unwrap(), 10);
        for value in ["0", "11", "-1", "1e1", "5 MB", "99999999999999999999"] {
            assert!(number(value).unwrap_err().message.starts_with("must be a whole number from 1 to 10"));
        }
    }

    #[test]
    fn a_list_of_separators_is_refused() {
        let list = |value: &str| Given::new("KOBSIDIAN_VAULT_ALLOW", Some(&value.to_owned())).list();
        assert_eq!(list(" a ,, b").unwrap().unwrap(), ["a", "b"]);
        assert_eq!(list("${ALLOW}").unwrap(), None);
        assert!(list(", ,").is_err());
    }
}
