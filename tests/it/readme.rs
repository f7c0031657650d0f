//! The README says what the code says: its three tables are rendered from it.

use std::{collections::HashMap, io, path::Path};

use vaultwright::{
    config::{self, Setting},
    error,
    tools::{self, Access, Entry},
};

const README: &str = include_str!("../../README.md");
/// `reason`, code, retryable, exit code: what the schemas of the errors do not tell.
const REASONS: &str = include_str!("reasons.tsv");

/// Variables that are named in the README and are no settings of ours, or belong to the tests.
const FOREIGN_VARIABLES: &[&str] = &[
    "XDG_STATE_HOME",
    "RUST_LOG",
    "VAULTWRIGHT_TEST_REQUIRE",
    "VAULTWRIGHT_REAL_VAULTS",
    "OBSIDIAN_VAULT_WORK",
];

#[test]
fn readme_is_fresh() {
    let fresh = [("tools", tools_table()), ("settings", settings_table()), ("errors", errors_table())]
        .into_iter()
        .try_fold(README.to_owned(), |readme, (name, table)| replaced(&readme, name, &table))
        .expect("the README has both marks of each table");
    if blessed() {
        write_readme(&fresh).unwrap();
    } else {
        assert!(fresh == README, "the README's tables are stale; `BLESS=1 cargo it readme` rewrites them");
    }
}

#[test]
fn every_variable_the_readme_names_exists() {
    let settings = config::settings();
    let known = |name: &str| {
        FOREIGN_VARIABLES.contains(&name) || settings.iter().any(|setting| setting.variable == name)
    };
    let unknown: Vec<_> = variables(README).filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_reasons_on_file_are_those_of_the_code() {
    let on_file: Vec<_> = REASONS.lines().filter_map(|row| row.split('\t').next()).collect();
    let in_code: Vec<_> = error::reasons().into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(on_file, in_code);
}

fn tools_table() -> String {
    let rows = tools::catalogue().map(|tool| {
        [code(&tools::plain_name(tool.name)), first_sentence(tool).to_owned(), access(tool.access).to_owned()]
    });
    table(["tool", "what it does", "access"], rows)
}

fn settings_table() -> String {
    let rows = config::settings().into_iter().map(|Setting { variable, flag, default, meaning }| {
        let default = if default.is_empty() { String::new() } else { code(&default) };
        [code(&variable), code(&flag), default, meaning]
    });
    table(["variable", "flag", "default", "meaning"], rows)
}

fn errors_table() -> String {
    let facts: HashMap<_, _> = REASONS.lines().filter_map(|row| row.split_once('\t')).collect();
    let rows = error::reasons().into_iter().map(|(reason, meaning)| {
        let row = facts.get(reason.as_str()).copied().unwrap_or("\t");
        let mut cells = row.split('\t').map(str::to_owned);
        let mut cell = || cells.next().unwrap_or_default();
        [code(&reason), cell(), cell(), meaning]
    });
    table(["reason", "code", "retryable", "meaning"], rows)
}

fn table<const N: usize>(heads: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let head = format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(N));
    let rows = rows.map(|row| format!("| {} |\n", row.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    head + &rows.collect::<String>()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn first_sentence(tool: &Entry) -> &str {
    tool.description.split_once(". ").map_or(tool.description, |(first, _)| first).trim_end_matches('.')
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "reads",
        Access::Session => "selects",
        Access::Edit => "writes",
    }
}

/// The text with the part between the two marks of that name exchanged; none where a mark is missing.
fn replaced(readme: &str, name: &str, table: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let (before, rest) = readme.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n{table}{close}{after}"))
}

/// The words between backticks that look like a variable.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '<' | '>');
    text.split(move |c| !word(c)).filter(|name| {
        let letters = name.chars().next().is_some_and(|first| first.is_ascii_uppercase());
        letters && name.contains('_') && !name.ends_with('_')
    })
}

#[expect(clippy::disallowed_methods, reason = "the switch of this test alone")]
fn blessed() -> bool {
    std::env::var_os("BLESS").is_some()
}

#[expect(clippy::disallowed_methods, reason = "the README is no vault file")]
fn write_readme(text: &str) -> io::Result<()> {
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"), text)
}
