//! The table of all settings, as the README shows it.

use clap::{Arg, Args as _, Command};

use super::Args;

/// The settings that clap does not read from the environment itself: flag, variable.
///
/// A flag that is given must be told from the variable here, or there are many variables.
const BY_HAND: &[(&str, &str)] =
    &[("vault", "OBSIDIAN_VAULT_PATH"), ("named-vault", "OBSIDIAN_VAULT_<NAME>")];

/// What is dropped from a variable to make its flag.
const PREFIXES: &[&str] = &["OBSIDIAN_", "KOBSIDIAN_", "MCP_"];

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The environment variable.
    pub variable: String,
    /// The flag, with its dashes.
    pub flag: String,
    /// The value when it is unset; empty when there is none.
    pub default: String,
    /// What it does.
    pub meaning: String,
}

/// Every documented setting, in the order of `--help`.
pub fn settings() -> Vec<Setting> {
    let command = Args::augment_args(Command::new("vaultwright"));
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(setting).collect()
}

fn setting(arg: &Arg) -> Option<Setting> {
    let flag = arg.get_long()?;
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    Some(Setting {
        variable: variable(arg, flag)?,
        flag: format!("--{flag}"),
        default: defaults.join(","),
        meaning: arg.get_help()?.to_string(),
    })
}

fn variable(arg: &Arg, flag: &str) -> Option<String> {
    let by_hand =
        || BY_HAND.iter().find(|(long, _)| *long == flag).map(|(_, variable)| (*variable).to_owned());
    arg.get_env().map(|env| env.to_string_lossy().into_owned()).or_else(by_hand)
}

/// The flag of a variable, without its dashes.
pub(super) fn flag(variable: &str) -> String {
    if let Some((flag, _)) = BY_HAND.iter().find(|(_, by_hand)| *by_hand == variable) {
        return (*flag).to_owned();
    }
    let rest = PREFIXES.iter().find_map(|prefix| variable.strip_prefix(prefix)).unwrap_or(variable);
    rest.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_follows_from_its_variable() {
        let settings = settings();
        assert!(settings.len() > 20);
        for setting in settings {
            assert_eq!(setting.flag, format!("--{}", flag(&setting.variable)));
        }
    }

    #[test]
    fn a_setting_for_tests_is_not_documented() {
        assert!(settings().iter().all(|setting| setting.variable != "VAULT_MAX_TIER"));
    }
}
