//! Arguments: keys folded, lenient scalars, everything else refused by name.
//!
//! The declared schema is the rule, so what a client is told and what it is held to are one thing.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    error::{ArgumentProblem, ArgumentsError, Error},
    tools::Object,
};

/// The most characters of a caller's text that a message repeats.
const ECHO_CHARS: usize = 80;

/// The largest whole number that a float holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

type Checked<T> = Result<T, ArgumentsError>;

/// Types the arguments of a call by the declared input schema.
///
/// Keys are matched ignoring case and `_`; a scalar, list or object sent as a string is taken as what the schema
/// says when it reads as that; `null` for an optional argument is absence. All else is `invalid_arguments`.
pub fn read<T: DeserializeOwned>(declared: &Object, arguments: Object) -> Result<T, Error> {
    let arguments = object(declared, arguments, "")?;
    serde_json::from_value(arguments.into()).map_err(|error| {
        let detail = format!("The arguments do not fit: {}.", echo(&error.to_string()));
        ArgumentsError::invalid("arguments", ArgumentProblem::Type, detail).into()
    })
}

fn object(schema: &Object, given: Object, at: &str) -> Checked<Object> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(given) };
    let required = names(schema.get("required"));
    let mut spellings: Vec<(&String, String)> = Vec::new();
    let mut kept = Object::new();
    for (key, value) in given {
        let Some((name, property)) = find(properties, &key) else {
            return Err(unknown_key(properties, &key, at));
        };
        if value.is_null() && is_typed(property) && !required.contains(&name.as_str()) {
            continue;
        }
        let place = below(at, name);
        let value = typed(property, value, &place)?;
        if kept.get(name).is_some_and(|other| *other != value) {
            return Err(conflict(&place, &spellings, name, key));
        }
        kept.insert(name.clone(), value);
        spellings.push((name, key));
    }
    match required.iter().find(|name| !kept.contains_key(**name)) {
        Some(name) => Err(missing(&below(at, name))),
        None => Ok(kept),
    }
}

/// The declared property a key means, whatever its case and underscores.
fn find<'a>(properties: &'a Object, key: &str) -> Option<(&'a String, &'a Value)> {
    properties.get_key_value(key).or_else(|| {
        let folded = fold(key);
        properties.iter().find(|(name, _)| fold(name) == folded)
    })
}

fn fold(key: &str) -> String {
    key.chars().filter(|letter| *letter != '_').flat_map(char::to_lowercase).collect()
}

fn is_typed(schema: &Value) -> bool {
    schema.get("type").is_some()
}

/// Checks one value against its schema, reading a string as what is wanted where that is possible.
fn typed(schema: &Value, value: Value, at: &str) -> Checked<Value> {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else { return Ok(value) };
    match (wanted, reading(wanted, value)) {
        ("array", Value::Array(items)) => elements(schema, items, at),
        ("object", Value::Object(fields)) => {
            let Some(schema) = schema.as_object() else { return Ok(fields.into()) };
            object(schema, fields, at).map(Value::Object)
        }
        ("integer", Value::Number(number)) if !is_whole(&number) => Err(wrong_type(at, wanted, "a fraction")),
        ("integer" | "number", Value::Number(number)) => in_range(schema, number.into(), at),
        ("string", Value::String(text)) => one_of(schema, text, at),
        ("boolean", Value::Bool(flag)) => Ok(flag.into()),
        (_, value) => Err(wrong_type(at, wanted, kind(&value))),
    }
}

/// A string as the value it spells, when the schema wants anything but a string; a whole float as an integer.
fn reading(wanted: &str, value: Value) -> Value {
    let value = match value {
        Value::String(text) if wanted != "string" => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        value => value,
    };
    match value.as_f64() {
        Some(float) if wanted == "integer" && value.is_f64() => whole(float).unwrap_or(value),
        _ => value,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked and the fraction is nothing")]
fn whole(float: f64) -> Option<Value> {
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| (float as i64).into())
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64()
}

fn elements(schema: &Value, items: Vec<Value>, at: &str) -> Checked<Value> {
    let Some(declared) = schema.get("items") else { return Ok(items.into()) };
    items.into_iter().enumerate().map(|(n, item)| typed(declared, item, &format!("{at}[{n}]"))).collect()
}

fn one_of(schema: &Value, text: String, at: &str) -> Checked<Value> {
    let allowed = names(schema.get("enum"));
    if allowed.is_empty() || allowed.contains(&text.as_str()) {
        return Ok(text.into());
    }
    let detail = format!("`{at}` must be one of {}.", allowed.join(", "));
    Err(invalid(at, ArgumentProblem::Enum, &allowed, vec![echo(&text)], detail))
}

fn in_range(schema: &Value, number: Value, at: &str) -> Checked<Value> {
    let outside = |keyword: &str, is_outside: fn(f64, f64) -> bool| {
        let bound = schema.get(keyword)?;
        is_outside(number.as_f64()?, bound.as_f64()?).then_some(bound)
    };
    let detail = if let Some(least) = outside("minimum", |number, bound| number < bound) {
        format!("`{at}` must be at least {least}.")
    } else if let Some(most) = outside("maximum", |number, bound| number > bound) {
        format!("`{at}` must be at most {most}.")
    } else {
        return Ok(number);
    };
    Err(invalid(at, ArgumentProblem::Range, &[], vec![number.to_string()], detail))
}

fn unknown_key(properties: &Object, key: &str, at: &str) -> ArgumentsError {
    let allowed: Vec<_> = properties.keys().map(String::as_str).collect();
    let key = echo(key);
    let field = below(at, &key);
    let detail = format!("There is no argument `{field}`.");
    invalid(&field, ArgumentProblem::UnknownKey, &allowed, vec![key], detail)
}

fn conflict(at: &str, spellings: &[(&String, String)], name: &str, key: String) -> ArgumentsError {
    let earlier = spellings.iter().find(|(known, _)| *known == name);
    let given: Vec<_> = earlier.map(|(_, spelling)| spelling.clone()).into_iter().chain([key]).collect();
    let detail = format!("`{}` are one argument and disagree.", given.join("` and `"));
    invalid(at, ArgumentProblem::Conflict, &[], given, detail)
}

fn missing(at: &str) -> ArgumentsError {
    ArgumentsError::invalid(at, ArgumentProblem::Missing, format!("`{at}` is required."))
}

fn wrong_type(at: &str, wanted: &str, given: &str) -> ArgumentsError {
    let article = if wanted.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    let detail = format!("`{at}` must be {article} {wanted}, not {given}.");
    invalid(at, ArgumentProblem::Type, &[], vec![given.to_owned()], detail)
}

fn invalid(
    field: &str,
    problem: ArgumentProblem,
    allowed: &[&str],
    given: Vec<String>,
    detail: String,
) -> ArgumentsError {
    let allowed = allowed.iter().map(ToString::to_string).collect();
    ArgumentsError::InvalidArguments { field: field.to_owned(), problem, allowed, given, detail }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn names(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// A caller's text, cut so that an answer stays short however long the text is.
fn echo(text: &str) -> String {
    match text.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::tools::schema;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Encoding {
        Base64,
        Text,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Target {
        note_path: String,
        #[schemars(range(min = 1))]
        line: Option<u32>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Input {
        path: String,
        expected_hash: Option<String>,
        #[schemars(range(min = 1, max = 1000))]
        limit: Option<u32>,
        ratio: Option<f64>,
        overwrite: Option<bool>,
        encoding: Option<Encoding>,
        tags: Option<Vec<String>>,
        target: Option<Target>,
        targets: Option<Vec<Target>>,
        value: Option<Value>,
    }

    fn parse(arguments: Value) -> Result<Input, Error> {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        read(&schema::input::<Input>(), arguments)
    }

    fn refused(arguments: Value) -> (Value, String) {
        let error = parse(arguments).unwrap_err();
        let data = error.report()["data"].clone();
        assert_eq!(data["reason"], "invalid_arguments");
        (data, error.to_string())
    }

    fn assert_refused(arguments: Value, field: &str, problem: &str, message: &str) {
        let (data, text) = refused(arguments);
        assert_eq!(data["field"], field);
        assert_eq!(data["problem"], problem);
        assert_eq!(text, format!("{message} Nothing was written."));
    }

    #[test]
    fn keys_are_matched_ignoring_case_and_underscores_at_every_level() {
        let camel =
            parse(json!({ "path": "a", "expectedHash": "h", "target": { "notePath": "n" } })).unwrap();
        let snake =
            parse(json!({ "PATH": "a", "expected_hash": "h", "target": { "note_path": "n" } })).unwrap();
        assert_eq!(camel, snake);
        assert_eq!(camel.expected_hash.as_deref(), Some("h"));
        assert_eq!(camel.target.unwrap().note_path, "n");
    }

    #[test]
    fn an_undeclared_key_is_refused_with_the_allowed_ones() {
        let (data, text) = refused(json!({ "path": "a", "target": { "notePath": "n", "row": 1 } }));
        assert_eq!(data["field"], "target.row");
        assert_eq!(data["problem"], "unknown_key");
        assert_eq!(data["allowed"], json!(["notePath", "line"]));
        assert_eq!(data["given"], json!(["row"]));
        assert_eq!(text, "There is no argument `target.row`. Nothing was written.");
    }

    #[test]
    fn two_spellings_that_disagree_are_refused_and_equal_ones_are_one() {
        let (data, text) = refused(json!({ "path": "a", "expected_hash": "x", "expectedHash": "y" }));
        assert_eq!(data["field"], "expectedHash");
        assert_eq!(data["problem"], "conflict");
        assert_eq!(data["given"], json!(["expected_hash", "expectedHash"]));
        assert_eq!(
            text,
            "`expected_hash` and `expectedHash` are one argument and disagree. Nothing was written."
        );
        assert_eq!(parse(json!({ "path": "a", "limit": 3, "LIMIT": "3" })).unwrap().limit, Some(3));
        assert_eq!(parse(json!({ "path": "a", "limit": 3, "LIMIT": null })).unwrap().limit, Some(3));
    }

    #[test]
    fn a_string_is_read_as_what_the_schema_wants() {
        let input = parse(json!({
            "path": "20",
            "limit": "20",
            "ratio": "0.5",
            "overwrite": "true",
            "tags": "[\"a\", \"b\"]",
            "target": "{\"note_path\": \"n\", \"line\": \"2\"}",
            "targets": [{ "notePath": "m" }],
        }))
        .unwrap();
        assert_eq!(input.path, "20");
        assert_eq!(input.limit, Some(20));
        assert_eq!(input.ratio, Some(0.5));
        assert_eq!(input.overwrite, Some(true));
        assert_eq!(input.tags.unwrap(), ["a", "b"]);
        assert_eq!(input.target, Some(Target { note_path: "n".into(), line: Some(2) }));
    }

    #[test]
    fn a_free_value_is_never_read_from_a_string() {
        assert_eq!(parse(json!({ "path": "a", "value": "20" })).unwrap().value, Some(json!("20")));
        assert_eq!(
            parse(json!({ "path": "a", "value": { "Odd_Key": 1 } })).unwrap().value,
            Some(json!({ "Odd_Key": 1 }))
        );
    }

    #[test]
    fn a_whole_float_is_an_integer() {
        assert_eq!(parse(json!({ "path": "a", "limit": 20.0 })).unwrap().limit, Some(20));
        assert_refused(
            json!({ "path": "a", "limit": 1.5 }),
            "limit",
            "type",
            "`limit` must be an integer, not a fraction.",
        );
    }

    #[test]
    fn null_for_an_optional_argument_is_absence() {
        let input = parse(json!({ "path": "a", "limit": null, "target": null, "encoding": null })).unwrap();
        assert_eq!((input.limit, input.target, input.encoding), (None, None, None));
        assert_refused(json!({ "path": null }), "path", "type", "`path` must be a string, not null.");
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named_by_its_place() {
        assert_refused(json!({}), "path", "missing", "`path` is required.");
        assert_refused(
            json!({ "path": "a", "targets": [{ "notePath": "m" }, {}] }),
            "targets[1].notePath",
            "missing",
            "`targets[1].notePath` is required.",
        );
        assert_refused(json!({ "path": 3 }), "path", "type", "`path` must be a string, not a number.");
        assert_refused(
            json!({ "path": "a", "tags": "a, b" }),
            "tags",
            "type",
            "`tags` must be an array, not a string.",
        );
        assert_refused(
            json!({ "path": "a", "overwrite": "yes" }),
            "overwrite",
            "type",
            "`overwrite` must be a boolean, not a string.",
        );
        assert_refused(
            json!({ "path": "a", "limit": "020" }),
            "limit",
            "type",
            "`limit` must be an integer, not a string.",
        );
    }

    #[test]
    fn an_enum_lists_what_it_takes() {
        let (data, text) = refused(json!({ "path": "a", "encoding": "utf8" }));
        assert_eq!(data["problem"], "enum");
        assert_eq!(data["allowed"], json!(["base64", "text"]));
        assert_eq!(text, "`encoding` must be one of base64, text. Nothing was written.");
        assert_eq!(parse(json!({ "path": "a", "encoding": "text" })).unwrap().encoding, Some(Encoding::Text));
    }

    #[test]
    fn a_number_out_of_range_says_the_bound() {
        assert_refused(json!({ "path": "a", "limit": 0 }), "limit", "range", "`limit` must be at least 1.");
        assert_refused(
            json!({ "path": "a", "limit": "1001" }),
            "limit",
            "range",
            "`limit` must be at most 1000.",
        );
        assert_refused(
            json!({ "path": "a", "target": { "notePath": "n", "line": 0 } }),
            "target.line",
            "range",
            "`target.line` must be at least 1.",
        );
    }

    #[test]
    fn a_long_key_is_not_sent_back_whole() {
        let (data, text) = refused(json!({ "path": "a", "é".repeat(10_000): 1 }));
        assert!(data["given"][0].as_str().unwrap().chars().count() <= ECHO_CHARS + 1);
        assert!(text.len() < 400, "{}", text.len());
    }

    #[test]
    fn a_tool_without_arguments_takes_none() {
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Nothing {}
        let one = Object::from_iter([("a".to_owned(), json!(1))]);
        let error = read::<Nothing>(&schema::input::<Nothing>(), one).unwrap_err();
        assert_eq!(error.to_string(), "There is no argument `a`. Nothing was written.");
        assert!(read::<Nothing>(&schema::input::<Nothing>(), Object::new()).is_ok());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".{0,6}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    const NAMES: [&str; 7] = ["path", "limit", "Overwrite", "tags", "target", "targets", "encoding"];

    proptest! {
        #[test]
        fn any_value_is_typed_or_refused_with_a_field(
            fields in prop::collection::vec((prop::sample::select(&NAMES[..]), any_json()), 0..5)
        ) {
            let arguments = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            if let Err(error) = read::<Input>(&schema::input::<Input>(), arguments) {
                let data = &error.report()["data"];
                prop_assert_eq!(&data["reason"], "invalid_arguments");
                prop_assert_ne!(&data["field"], "arguments", "the schema should have refused it: {}", error);
            }
        }

        #[test]
        fn a_spelling_changes_nothing(upper in any::<[bool; 12]>(), score in 0_usize..12) {
            let mut key = String::new();
            for (n, letter) in "expectedhash".chars().enumerate() {
                if n == score { key.push('_'); }
                key.push(if upper[n] { letter.to_ascii_uppercase() } else { letter });
            }
            let input = parse(json!({ "path": "a", key: "h" })).unwrap();
            prop_assert_eq!(input.expected_hash.as_deref(), Some("h"));
        }
    }
}
