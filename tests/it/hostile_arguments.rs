//! Arguments that no tool can take, made from what each tool says of itself.

use rmcp::{ServiceError, model::Tool};
use serde_json::{Value, json};

use crate::{
    client::{Client, ERAS, Era},
    vault::vault,
};

const NOTE: &str = "//- a.md\n# A\n";

/// Values of every kind, some of them large or deep.
fn hostile_values() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let mut values =
        vec![json!(null), json!(true), json!(-1), json!(1e300), json!(u64::MAX), json!({}), deep];
    let texts =
        ["", "\0", "../../etc/passwd", "/", "\u{202e}", "null", "[", "{\"a\":", "sha256:", "ａ.md", "C:\\x"];
    values.extend(texts.map(Value::from));
    values.push("x".repeat(100_000).into());
    values
}

fn properties(tool: &Tool) -> impl Iterator<Item = (&String, &Value)> {
    tool.input_schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// A value that no reading makes one of the declared type; none for a free value.
fn of_another_type(property: &Value) -> Option<Value> {
    let wrong = match property.get("type")?.as_str()? {
        "string" => json!(["x"]),
        _ => json!("not this"),
    };
    Some(wrong)
}

fn is_invalid_params(error: &ServiceError) -> bool {
    matches!(error, ServiceError::McpError(error) if error.code.0 == -32602)
}

#[tokio::test]
async fn no_value_of_an_argument_is_a_fault_of_the_server() {
    let vault = vault(NOTE);
    for era in ERAS {
        let client = Client::open(vault.state(), era).await;
        for tool in client.tools().await {
            for (name, _) in properties(&tool) {
                for value in hostile_values() {
                    let is_fault = match client.try_call(&tool.name, json!({ name: value })).await {
                        Ok(reply) => reply.error().is_some_and(|error| error["data"]["reason"] == "internal"),
                        // What is no cursor at all is a protocol error.
                        Err(error) => name != "cursor" || !is_invalid_params(&error),
                    };
                    assert!(!is_fault, "{} {name}", tool.name);
                }
            }
        }
    }
}

#[tokio::test]
async fn an_undeclared_argument_is_named_beside_the_allowed_ones() {
    let vault = vault(NOTE);
    let client = Client::open(vault.state(), Era::Modern).await;
    for tool in client.tools().await {
        let reply = client.call(&tool.name, json!({ "noSuchThing": 1 })).await;
        let facts = reply.refused("invalid_arguments");
        assert_eq!(facts["problem"], "unknown_key");
        assert_eq!(facts["field"], "noSuchThing");
        let allowed: Vec<_> = properties(&tool).map(|(name, _)| name).collect();
        assert_eq!(facts.get("allowed").cloned().unwrap_or(json!([])), json!(allowed), "{}", tool.name);
    }
}

#[tokio::test]
async fn a_value_of_another_type_is_refused_by_the_name_of_its_argument() {
    let vault = vault(NOTE);
    let before = vault.tree();
    let client = Client::open(vault.state(), Era::Modern).await;
    for tool in client.tools().await {
        for (name, property) in properties(&tool) {
            let Some(wrong) = of_another_type(property) else { continue };
            let reply = client.call(&tool.name, json!({ name: wrong })).await;
            let facts = reply.refused("invalid_arguments");
            assert_eq!((&facts["field"], &facts["problem"]), (&json!(name), &json!("type")), "{}", tool.name);
        }
    }
    assert_eq!(vault.tree(), before);
}

#[tokio::test]
async fn a_value_outside_its_enum_or_range_is_refused() {
    let vault = vault(NOTE);
    let client = Client::open(vault.state(), Era::Modern).await;
    for tool in client.tools().await {
        for (name, property) in properties(&tool) {
            let (wrong, problem) = if property.get("enum").is_some() {
                (json!("no such value"), "enum")
            } else if let Some(least) = property.get("minimum").and_then(Value::as_i64) {
                (json!(least - 1), "range")
            } else {
                continue;
            };
            let reply = client.call(&tool.name, json!({ name: wrong })).await;
            assert_eq!(reply.refused("invalid_arguments")["problem"], problem, "{} {name}", tool.name);
        }
    }
}

#[tokio::test]
async fn a_missing_argument_is_named() {
    let vault = vault(NOTE);
    let client = Client::open(vault.state(), Era::Modern).await;
    for tool in client.tools().await {
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        if let Some(first) = required.and_then(|required| required.first()) {
            let reply = client.call(&tool.name, json!({})).await;
            let facts = reply.refused("invalid_arguments");
            assert_eq!((&facts["field"], &facts["problem"]), (first, &json!("missing")), "{}", tool.name);
        }
    }
}
