//! What every tool of the catalogue must be.

use std::{collections::HashSet, path::Path};

use rmcp::model::Tool;
use serde_json::{Map, Value, json};
use vaultwright::{
    config::Args,
    tools::{Access, catalogue, plain_name},
};

use crate::{
    client::{Client, Era},
    vault::vault,
};

/// What breaks some client, wherever it stands in a schema.
const NEVER: [&str; 7] = ["$ref", "$defs", "$schema", "oneOf", "allOf", "anyOf", "format"];

/// What a seed's name begins with, and its file's name does not.
const PREFIXES: [&str; 3] = ["vault_", "obsidian_", "workspace_"];

async fn listing() -> Vec<Tool> {
    Client::open(vault("").state(), Era::Modern).await.tools().await
}

/// Every subschema, the root first, with its place.
fn subschemas(schema: &Map<String, Value>, place: &str) -> Vec<(String, Map<String, Value>)> {
    let mut all = vec![(place.to_owned(), schema.clone())];
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let children = properties.map(|(name, child)| (format!("{place}.{name}"), child));
    let items = schema.get("items").map(|child| (format!("{place}[]"), child));
    for (place, child) in children.chain(items) {
        let child = child.as_object().unwrap_or_else(|| panic!("{place} is a boolean schema"));
        all.extend(subschemas(child, &place));
    }
    all
}

fn names(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().map(|name| name.as_str().unwrap()).collect()
}

#[tokio::test]
async fn tools_are_listed_in_the_order_of_the_catalogue() {
    let listed: Vec<_> = listing().await.into_iter().map(|tool| tool.name.into_owned()).collect();
    let known: Vec<_> = catalogue().map(|entry| plain_name(entry.name)).collect();
    assert_eq!(listed, known);
}

#[test]
fn names_pass_every_client() {
    let mut seen = HashSet::new();
    for entry in catalogue() {
        let name = plain_name(entry.name);
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        assert!((1..=40).contains(&name.len()) && name.chars().all(is_plain), "{name}");
        assert!(seen.insert(name.clone()), "{name} is there twice");
    }
}

#[test]
fn a_tool_stands_in_the_file_of_its_name() {
    for entry in catalogue() {
        let name = plain_name(entry.name);
        let stem = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
        let is_there = ["vault", "file", "note", "workspace"]
            .iter()
            .any(|family| Path::new("src/tools").join(family).join(format!("{stem}.rs")).exists());
        assert!(is_there, "{name} has no file {stem}.rs");
    }
}

#[test]
fn words_for_people_are_there_and_short() {
    for entry in catalogue() {
        assert!(!entry.title.is_empty() && !entry.description.is_empty(), "{}", entry.name);
        let length = entry.description.chars().count();
        assert!(length <= 400, "{}: {length} characters", entry.name);
    }
}

#[test]
fn hints_are_true_to_what_the_tool_may_do() {
    for entry in catalogue() {
        let hints = entry.hints;
        let reads = (hints.read_only, hints.idempotent, hints.destructive);
        match entry.access {
            Access::Read => assert_eq!(reads, (true, true, false), "{}", entry.name),
            Access::Session => assert!(!hints.read_only && !hints.destructive, "{}", entry.name),
            Access::Edit => assert!(!hints.read_only, "{}", entry.name),
        }
        assert!(!hints.open_world, "{}", entry.name);
    }
}

#[tokio::test]
async fn inputs_are_schemas_that_every_client_takes() {
    for tool in listing().await {
        let schema = &*tool.input_schema;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert!(!schema.contains_key("title") && !schema.contains_key("description"), "{}", tool.name);
        for (place, part) in subschemas(schema, &tool.name) {
            assert_plain(&place, &part);
            if part.contains_key("properties") {
                assert_strict(&place, &part);
            }
            assert!(
                place == tool.name || place.ends_with("[]") || part.contains_key("description"),
                "{place}"
            );
            let depth = place.matches('.').count();
            assert!(depth <= 2, "{place} lies too deep");
        }
    }
}

fn assert_plain(place: &str, part: &Map<String, Value>) {
    for keyword in NEVER {
        assert!(!part.contains_key(keyword), "{place} has {keyword}");
    }
    assert!(part.get("type").is_none_or(Value::is_string), "{place} is a union");
    assert!(part.get("default").is_none_or(|value| !value.is_null()), "{place} defaults to null");
    if let Some(values) = part.get("enum") {
        assert!(values.as_array().unwrap().iter().all(Value::is_string), "{place}: {values}");
    }
}

/// Nothing undeclared, and no two names that fold to one.
fn assert_strict(place: &str, part: &Map<String, Value>) {
    assert_eq!(part.get("additionalProperties"), Some(&json!(false)), "{place} is open");
    let properties = part["properties"].as_object().unwrap();
    let folded: HashSet<_> = properties.keys().map(|name| name.replace('_', "").to_lowercase()).collect();
    assert_eq!(folded.len(), properties.len(), "{place} has two names that are one");
    assert!(names(part.get("required")).iter().all(|name| properties.contains_key(*name)), "{place}");
}

#[tokio::test]
async fn outputs_are_objects_without_words_for_people() {
    for tool in listing().await {
        let schema = tool.output_schema.as_deref().unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        for combinator in ["oneOf", "anyOf", "allOf"] {
            assert!(!schema.contains_key(combinator), "{} has {combinator} at its root", tool.name);
        }
        let text = json!(schema).to_string();
        for keyword in ["$ref", "$defs", "$schema"] {
            assert!(!text.contains(keyword), "{} has {keyword}", tool.name);
        }
        for (place, part) in subschemas(schema, &tool.name) {
            assert!(!part.contains_key("description") && !part.contains_key("format"), "{place}");
        }
    }
}

#[tokio::test]
async fn a_client_that_cuts_long_answers_is_told_how_long_a_read_may_be() {
    let told: Vec<_> = listing().await.into_iter().filter(|tool| tool.meta.is_some()).collect();
    for tool in &told {
        assert_eq!(tool.meta.as_ref().unwrap()["anthropic/maxResultSizeChars"], 100_000);
    }
    let told: Vec<_> = told.iter().map(|tool| &*tool.name).collect();
    let long: Vec<_> = catalogue().map(|entry| entry.name).filter(|name| *name == "read_file").collect();
    assert_eq!(told, long);
}

#[tokio::test]
async fn under_read_only_a_tool_that_writes_is_unlisted_and_says_why() {
    let mut settings = Args::default();
    settings.vaults.read_only = Some("true".into());
    let vault = vault("");
    let client = Client::open(vault.state_with(&settings), Era::Modern).await;
    let listed: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name.into_owned()).collect();
    for entry in catalogue() {
        let name = plain_name(entry.name);
        let may_write = entry.access == Access::Edit;
        assert_eq!(listed.contains(&name), !may_write, "{name}");
        if may_write {
            let reply = client.call(&name, json!({})).await;
            assert_eq!(reply.refused("tool_disabled")["setting"], "OBSIDIAN_READ_ONLY");
        }
    }
    assert!(client.server().instructions.as_ref().unwrap().contains("read-only"));
}

#[tokio::test]
async fn dotted_names_are_listed_where_that_is_set() {
    let mut settings = Args::default();
    settings.serve.tool_name_style = Some("dotted".into());
    let vault = vault("");
    let tools = Client::open(vault.state_with(&settings), Era::Modern).await.tools().await;
    let names: Vec<_> = catalogue().map(|entry| entry.name).collect();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), names);
}

#[tokio::test]
async fn the_list_is_short() {
    let size = json!(listing().await).to_string().len();
    assert!(size < 30_000, "{size} bytes");
}

#[tokio::test]
async fn schemas_are_as_they_were() {
    for tool in listing().await {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_json_snapshot!(tool.name.to_string(), tool);
        });
    }
}
