//! Rust types as tidy wire schemas.
use crate::tools::Object;
use schemars::JsonSchema;
/// The schema of a tool's arguments.
pub fn input<T: JsonSchema>() -> Object {
    Object::new()
}
/// The schema of a tool's answer.
pub fn output<T: JsonSchema>() -> Object {
    Object::new()
}
