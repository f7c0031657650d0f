use clap::{Args as _, Command, FromArgMatches, builder::Resettable};

use super::*;
use crate::fs::host::HostPath;

/// The arguments of a command line, whatever the environment of the test is.
fn args(line: &str) -> Args {
    let command =
        Args::augment_args(Command::new("t").no_binary_name(true)).subcommand(Command::new("write"));
    let matches = command.mut_args(without_environment).try_get_matches_from(line.split_whitespace());
    Args::from_arg_matches(&matches.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn without_environment(arg: clap::Arg) -> clap::Arg {
    arg.env(Resettable::<clap::builder::OsStr>::Reset)
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let home = [("HOME", "/home/a")];
    Environment::of(home.iter().chain(variables).copied()).started_in(HostPath::parse("/start").unwrap())
}

fn load(line: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(&args(line), &environment(variables))
}

fn named(config: &Config) -> Vec<(String, String)> {
    config.vaults.named.iter().map(|(name, path)| (name.clone(), path.to_string())).collect()
}

#[test]
fn what_the_help_calls_the_default_is_the_default() {
    let from_help = load("", &[]).unwrap();
    let from_code = Config::load(&Args::default(), &environment(&[])).unwrap();
    assert_eq!(format!("{from_help:?}"), format!("{from_code:?}"));
}

#[test]
fn a_flag_may_stand_before_or_after_the_command() {
    for line in ["--max-hash-bytes 5 write", "write --max-hash-bytes 5", "write --max-hash-bytes=5"] {
        assert_eq!(load(line, &[]).unwrap().files.max_hash_bytes, 5, "{line}");
    }
}

#[test]
fn a_boolean_flag_alone_is_yes_and_takes_no_other_word_with_it() {
    assert!(load("--read-only write", &[]).unwrap().policy.is_read_only());
    assert!(!load("--read-only=off", &[]).unwrap().policy.is_read_only());
    assert!(!load("--vault-ad-hoc=no --vault-discovery=0", &[]).unwrap().vaults.ad_hoc);
}

#[test]
fn the_first_wrong_setting_is_named_with_its_flag() {
    for (line, setting) in [
        ("--read-only=maybe", "OBSIDIAN_READ_ONLY (--read-only)"),
        ("--vault-discovery=2", "KOBSIDIAN_VAULT_DISCOVERY (--vault-discovery)"),
        ("--max-file-write-bytes 0", "MAX_FILE_WRITE_BYTES (--max-file-write-bytes)"),
        ("--max-hash-bytes 1099511627777", "MAX_HASH_BYTES (--max-hash-bytes)"),
        ("--max-response-chars 999", "MAX_RESPONSE_CHARS (--max-response-chars)"),
        ("--vault-durability half", "VAULT_DURABILITY (--vault-durability)"),
        ("--vault-max-tier T0,C1", "VAULT_MAX_TIER (--vault-max-tier)"),
        ("--vault-allow ,", "KOBSIDIAN_VAULT_ALLOW (--vault-allow)"),
        ("--read-paths a/../b", "OBSIDIAN_READ_PATHS (--read-paths)"),
        ("--named-vault work", "OBSIDIAN_VAULT_<NAME> (--named-vault)"),
        ("--named-vault PATH=/x", "OBSIDIAN_VAULT_<NAME> (--named-vault)"),
        ("--write-file-source-paths relative", "WRITE_FILE_SOURCE_PATHS (--write-file-source-paths)"),
        ("--write-file-source-paths /no/such/folder", "WRITE_FILE_SOURCE_PATHS (--write-file-source-paths)"),
        ("--tool-name-style camel", "TOOL_NAME_STYLE (--tool-name-style)"),
        ("--log-level loud", "MCP_LOG_LEVEL (--log-level)"),
        ("--transport http", "MCP_TRANSPORT_TYPE (--transport-type)"),
        ("--transport-type sse", "MCP_TRANSPORT_TYPE (--transport-type)"),
    ] {
        assert_eq!(load(line, &[]).unwrap_err().setting, setting, "{line}");
    }
}

#[test]
fn http_is_refused_as_not_in_this_version() {
    assert!(load("--transport http", &[]).unwrap_err().to_string().contains("not in this version"));
}

#[test]
fn an_empty_or_unfilled_setting_is_as_good_as_none() {
    let config = load("--vault ${VAULT} --read-paths= --max-hash-bytes= --vault-allow ${A}", &[]).unwrap();
    assert_eq!(config.vaults.default, None);
    assert_eq!(config.vaults.allow, None);
    assert!(!config.policy.has_lists());
    assert_eq!(config.files.max_hash_bytes, 1_073_741_824);
}

#[test]
fn the_default_vault_is_made_absolute() {
    for (line, variable, expected) in [
        ("", "/v/Work/", "/v/Work"),
        ("", "notes", "/start/notes"),
        ("", "~/Notes", "/home/a/Notes"),
        ("--vault ./here", "/v/Work", "/start/here"),
        ("--vault Work", "/v/Work", "/start/Work"),
        ("--vault ${X}", "/v/Work", "/v/Work"),
    ] {
        let config = load(line, &[("OBSIDIAN_VAULT_PATH", variable)]).unwrap();
        assert_eq!(config.vaults.default.unwrap().to_string(), expected, "{line} {variable}");
    }
}

#[test]
fn an_id_or_name_given_to_another_command_leaves_the_default_alone() {
    for (line, selector, default) in [
        ("--vault Work", Some("Work"), "/v/Default"),
        ("--vault env:work", Some("env:work"), "/v/Default"),
        ("--vault ./Work", None, "/start/Work"),
        ("--vault .", None, "/start"),
        ("--vault ${VAULT}", None, "/v/Default"),
        ("", None, "/v/Default"),
    ] {
        let mut args = args(line);
        assert_eq!(args.take_vault_selector().as_deref(), selector, "{line}");
        let config = Config::load(&args, &environment(&[("OBSIDIAN_VAULT_PATH", "/v/Default")])).unwrap();
        assert_eq!(config.vaults.default.unwrap().to_string(), default, "{line}");
    }
}

#[test]
fn named_vaults_come_from_variables_of_any_case() {
    let config = load(
        "",
        &[
            ("OBSIDIAN_VAULT_work", "/lower"),
            ("OBSIDIAN_VAULT_WORK", "/upper"),
            ("OBSIDIAN_VAULT_HOME2", "~/Home"),
            ("OBSIDIAN_VAULT_REL", "notes"),
            ("OBSIDIAN_VAULT_EMPTY", "${EMPTY}"),
            ("OBSIDIAN_VAULT_PATH", "/default"),
            ("OBSIDIAN_VAULT_A-B", "/no"),
        ],
    )
    .unwrap();
    assert_eq!(named(&config), [("home2".into(), "/home/a/Home".into()), ("work".into(), "/upper".into())]);
    let warned: Vec<_> = config.vaults.warnings.iter().map(|(setting, _)| setting.as_str()).collect();
    assert_eq!(warned, ["OBSIDIAN_VAULT_REL", "OBSIDIAN_VAULT_work"]);
}

#[test]
fn a_named_vault_of_the_command_line_wins_over_its_variable() {
    let config =
        load("--named-vault Work=/flag --named-vault b=/b", &[("OBSIDIAN_VAULT_WORK", "/env")]).unwrap();
    assert_eq!(named(&config), [("work".into(), "/flag".into()), ("b".into(), "/b".into())]);
    assert!(config.vaults.warnings.is_empty());
}

#[test]
fn a_source_folder_must_exist_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("--write-file-source-paths {}", folder.path().display());
    assert_eq!(load(&line, &[]).unwrap().files.source_paths, [HostPath::parse(folder.path()).unwrap()]);
}

#[test]
fn the_best_tiers_can_be_lowered_for_tests() {
    assert_eq!(load("--vault-max-tier T3,C4", &[]).unwrap().files.max_tier, (3, 4));
}

#[test]
fn without_a_home_the_server_starts_and_keeps_nothing_outside_the_vault() {
    let config = Config::load(&Args::default(), &Environment::default()).unwrap();
    assert_eq!(config.files.state_dir, HostPath::nowhere());
}

#[test]
fn the_log_is_told_each_list_and_each_doubt() {
    let config = load("--read-paths A,b --deny-paths b", &[("OBSIDIAN_VAULT_X", "relative")]).unwrap();
    assert_eq!(
        config.notices(),
        [
            "OBSIDIAN_READ_PATHS: A, b",
            "OBSIDIAN_DENY_PATHS: b",
            "OBSIDIAN_READ_PATHS: `b` is denied and so grants nothing",
            "OBSIDIAN_VAULT_X: is dropped: its path must be absolute",
        ]
    );
}
