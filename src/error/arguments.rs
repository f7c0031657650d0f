//! What the caller sent.
#![expect(
    missing_docs,
    reason = "facts and sub-causes have one meaning everywhere; the variants say what happened"
)]

use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Exit, Reason};

/// What is wrong with one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentProblem {
    UnknownKey,
    Missing,
    Type,
    Range,
    Enum,
    Conflict,
}

/// Failures of the arguments of a call, before any vault is looked at.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ArgumentsError {
    /// The arguments do not have the tool's shape.
    #[error("{detail} Nothing was written.")]
    InvalidArguments {
        field: String,
        problem: ArgumentProblem,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        allowed: Vec<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        given: Vec<String>,
        #[serde(skip)]
        detail: String,
    },
    /// A hash is not `sha256:` and 64 lowercase hexadecimal digits.
    #[error("`{field}` is not a hash of the form {expected_format}. Nothing was written.")]
    MalformedPrecondition { field: String, expected_format: &'static str },
    /// The content is not strict base64.
    #[error("The content is not valid base64: it breaks at byte {offset_in_bytes}. Nothing was written.")]
    InvalidBase64 {
        offset_in_bytes: u64,
        #[serde(skip)]
        data_url: bool,
    },
    /// A well-formed cursor belongs to another question or state.
    #[error("The cursor belongs to another query or to a state that has changed. Nothing was written.")]
    StaleCursor {},
    /// The configuration leaves the tool unlisted.
    #[error("`{tool}` is disabled by {setting}. Nothing was written.")]
    ToolDisabled { tool: String, setting: &'static str },
    /// The source lies outside the folders the operator opened.
    #[error("The source lies outside the folders this server may take files from. Nothing was written.")]
    SourceForbidden {},
    /// There is no source file.
    #[error("There is no source file at the path given. Nothing was written.")]
    SourceMissing {},
    /// The source is not a regular file.
    #[error("The source is not a regular file. Nothing was written.")]
    SourceNotAFile {},
    /// The source changed while it was copied.
    #[error("The source changed while it was being copied. Nothing was written.")]
    SourceChanged {},
    /// The source does not have the hash that was asked for.
    #[error("The source has another hash than the one given. Nothing was written.")]
    SourceMismatch { actual_hash: String },
}

/// The one accepted form of a hash.
pub(crate) const HASH_FORMAT: &str = "sha256:<64 lowercase hex>";

impl ArgumentsError {
    /// An argument that breaks the tool's shape, with the whole sentence about it.
    pub fn invalid(field: impl Into<String>, problem: ArgumentProblem, detail: impl Into<String>) -> Self {
        Self::InvalidArguments {
            field: field.into(),
            problem,
            allowed: Vec::new(),
            given: Vec::new(),
            detail: detail.into(),
        }
    }

    /// A hash argument that is not in the canonical form; the value is not echoed.
    pub fn malformed_hash(field: impl Into<String>) -> Self {
        Self::MalformedPrecondition { field: field.into(), expected_format: HASH_FORMAT }
    }
}

impl Reason for ArgumentsError {
    fn class(&self) -> Class {
        match self {
            Self::InvalidArguments { .. } => Class::InvalidParams,
            Self::StaleCursor {} | Self::SourceChanged {} | Self::SourceMismatch { .. } => Class::Conflict,
            Self::ToolDisabled { .. } | Self::SourceForbidden {} => Class::Forbidden,
            Self::SourceMissing {} => Class::NotFound,
            Self::MalformedPrecondition { .. } | Self::InvalidBase64 { .. } | Self::SourceNotAFile {} => {
                Class::Validation
            }
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::SourceChanged {})
    }

    fn exit(&self) -> Exit {
        match self {
            Self::InvalidArguments { .. }
            | Self::MalformedPrecondition { .. }
            | Self::InvalidBase64 { .. } => Exit::Usage,
            Self::ToolDisabled { .. } | Self::SourceForbidden {} => Exit::Refused,
            Self::SourceMissing {} => Exit::NotFound,
            Self::SourceChanged {} => Exit::Concurrent,
            Self::SourceMismatch { .. } => Exit::Precondition,
            Self::StaleCursor {} | Self::SourceNotAFile {} => Exit::Rejected,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::InvalidArguments { field, allowed, .. } if !allowed.is_empty() => {
                format!("`{field}`: send one of {}.", allowed.join(", "))
            }
            Self::InvalidArguments { field, .. } => format!("`{field}`: correct it and call again."),
            Self::MalformedPrecondition { .. } => {
                "Copy `hash` of a read or of an earlier write, with its `sha256:` prefix.".into()
            }
            Self::InvalidBase64 { data_url: true, .. } => {
                "Drop the `data:…;base64,` prefix and send the base64 alone.".into()
            }
            Self::InvalidBase64 { .. } => {
                "Send padded base64 of the standard alphabet without line breaks, or set encoding to \"text\"."
                    .into()
            }
            Self::StaleCursor {} => "Repeat the call without `cursor`.".into(),
            Self::ToolDisabled { .. } => "The operator decides this at start-up; use the listed tools.".into(),
            Self::SourceForbidden {} => "Send the bytes as `content`, or ask the operator to open the folder.".into(),
            Self::SourceMissing {} => "Check the path of the source file; `source_path` must be absolute.".into(),
            Self::SourceNotAFile {} => "Name a regular file as the source.".into(),
            Self::SourceChanged {} => "Call again once the program that writes the source is done.".into(),
            Self::SourceMismatch { .. } => "Build the source again, or send the hash it has now.".into(),
        }
    }
}
