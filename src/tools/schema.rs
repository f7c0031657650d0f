//! Rust types as tidy wire schemas: flat, inlined, without what some client is known to refuse.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::Value;

use crate::tools::Object;

/// The schema of a tool's arguments: no references, no unions, no formats, no `null`.
pub fn input<T: JsonSchema>() -> Object {
    let mut root = root::<T>(SchemaSettings::draft2020_12(), plain);
    // A tool without arguments says so: some clients refuse an object that names no properties at all.
    root.entry("properties").or_insert_with(|| Object::new().into());
    root
}

/// The schema of a tool's answer: no references, no formats, no descriptions. A nullable field keeps its union.
pub fn output<T: JsonSchema>() -> Object {
    root::<T>(SchemaSettings::draft2020_12().for_serialize(), bare)
}

fn root<T: JsonSchema>(settings: SchemaSettings, tidy: fn(&mut Schema)) -> Object {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(tidy).transform(&mut schema);
    let mut root = std::mem::take(schema.ensure_object());
    root.shift_remove("title");
    root.shift_remove("description");
    root
}

/// One subschema of an input.
fn plain(schema: &mut Schema) {
    if schema.as_bool() == Some(true) {
        schema.ensure_object();
    }
    let Some(object) = schema.as_object_mut() else { return };
    take_only_branch(object);
    object.shift_remove("format");
    drop_null(object, "enum");
    drop_null(object, "type");
    if let Some([only]) = object.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        let only = only.clone();
        object.insert("type".into(), only);
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
}

/// One subschema of an output.
fn bare(schema: &mut Schema) {
    schema.remove("format");
    schema.remove("description");
}

/// `anyOf` of one schema and `null` becomes that schema; what stood beside it is kept.
fn take_only_branch(object: &mut Object) {
    let Some(branches) = object.get("anyOf").and_then(Value::as_array) else { return };
    let mut real = branches.iter().filter(|branch| branch["type"] != "null");
    let (Some(Value::Object(branch)), None) = (real.next(), real.next()) else { return };
    let branch = branch.clone();
    object.shift_remove("anyOf");
    for (key, value) in branch {
        object.entry(key).or_insert(value);
    }
}

/// Takes `null`, as a value or as the name of a type, out of a list.
fn drop_null(object: &mut Object, keyword: &str) {
    if let Some(list) = object.get_mut(keyword).and_then(Value::as_array_mut) {
        list.retain(|entry| !entry.is_null() && entry != "null");
    }
}

#[cfg(test)]
#[expect(dead_code, reason = "only the schemas of these types are looked at")]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Encoding {
        Base64,
        Text,
    }

    /// Documented type.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Target {
        /// Where.
        path: String,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Input {
        /// The file.
        path: String,
        /// How long.
        #[schemars(range(min = 1, max = 9))]
        max_length: Option<u32>,
        /// How it is written.
        encoding: Option<Encoding>,
        /// What to look at.
        target: Option<Target>,
        /// Several.
        targets: Option<Vec<Target>>,
        /// Anything.
        value: Option<Value>,
        content: Value,
    }

    #[derive(Serialize, JsonSchema)]
    struct Output {
        /// The one before.
        previous: Option<String>,
        /// How many.
        count: u64,
    }

    #[test]
    fn an_input_is_flat_and_in_declaration_order() {
        let target = |description| {
            json!({
                "description": description,
                "type": "object",
                "properties": { "path": { "description": "Where.", "type": "string" } },
                "additionalProperties": false,
                "required": ["path"],
            })
        };
        let expected = json!({
            "type": "object",
            "properties": {
                "path": { "description": "The file.", "type": "string" },
                "maxLength": { "description": "How long.", "type": "integer", "minimum": 1, "maximum": 9 },
                "encoding": { "description": "How it is written.", "type": "string", "enum": ["base64", "text"] },
                "target": target("What to look at."),
                "targets": { "description": "Several.", "type": "array", "items": target("Documented type.") },
                "value": { "description": "Anything." },
                "content": {},
            },
            "additionalProperties": false,
            "required": ["path", "content"],
        });
        let input = input::<Input>();
        assert_eq!(Value::Object(input.clone()), expected);
        let names: Vec<_> = input["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["path", "maxLength", "encoding", "target", "targets", "value", "content"]);
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[test]
    fn an_input_without_arguments_says_so() {
        let expected = json!({ "type": "object", "additionalProperties": false, "properties": {} });
        assert_eq!(Value::Object(input::<Nothing>()), expected);
    }

    #[test]
    fn an_output_keeps_its_null_and_nothing_for_people() {
        let expected = json!({
            "type": "object",
            "properties": {
                "previous": { "type": ["string", "null"] },
                "count": { "type": "integer", "minimum": 0 },
            },
            "required": ["previous", "count"],
        });
        assert_eq!(Value::Object(output::<Output>()), expected);
    }
}
