//! The one serialiser of failures: `{code, message, data: {reason, ...facts, recovery, retryable}}`.

use schemars::{Schema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::Error;

impl Error {
    /// The error object clients read.
    ///
    /// `data` holds the reason first, then its facts, then `recovery.hint` and `retryable`.
    pub fn report(&self) -> Value {
        let mut data = self.facts();
        data.insert("recovery".into(), json!({ "hint": self.reason().hint() }));
        data.insert("retryable".into(), self.reason().retryable().into());
        json!({ "code": self.reason().class().code(), "message": self.to_string(), "data": data })
    }

    /// The public name of the reason.
    pub fn name(&self) -> String {
        self.facts().get("reason").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn facts(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(facts)) => facts,
            _ => Map::new(),
        }
    }
}

/// Every reason with its meaning, as the families' own schemas list them.
pub fn reasons() -> Vec<(String, String)> {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|s| s.inline_subschemas = true);
    let root = settings.into_generator().into_root_schema_for::<Error>();
    branches(root.as_value(), "anyOf").flat_map(|family| branches(family, "oneOf")).filter_map(row).collect()
}

fn branches<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

fn row(variant: &Value) -> Option<(String, String)> {
    let reason = variant.pointer("/properties/reason/const")?.as_str()?;
    let meaning = Schema::try_from(variant.clone()).ok()?;
    let meaning = meaning.get("description")?.as_str()?.to_owned();
    Some((reason.to_owned(), meaning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{PathError, WriteError};

    #[test]
    fn the_reason_comes_first_and_the_facts_are_camel_case() {
        let error = Error::from(WriteError::StalePrecondition {
            path: "a.md".into(),
            current_hash: "sha256:00".into(),
            current_size_in_bytes: 3,
        });
        let report = error.report();
        assert_eq!(report["code"], -32002);
        let keys: Vec<_> = report["data"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["reason", "path", "currentHash", "currentSizeInBytes", "recovery", "retryable"]);
        assert_eq!(error.name(), "stale_precondition");
    }

    #[test]
    fn absent_facts_are_left_out() {
        let error = Error::from(PathError::SymlinkRefused { path: "l".into(), target: None });
        assert!(error.report()["data"].get("target").is_none());
    }

    #[test]
    fn reason_names_are_unique_across_families_and_each_has_a_meaning() {
        let reasons = reasons();
        assert!(reasons.len() > 40, "{}", reasons.len());
        let names: std::collections::HashSet<_> = reasons.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), reasons.len());
        assert!(reasons.iter().all(|(_, meaning)| meaning.ends_with('.')));
    }
}
