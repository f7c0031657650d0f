//! The running server itself.
#![expect(
    missing_docs,
    reason = "facts and sub-causes have one meaning everywhere; the variants say what happened"
)]

use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Exit, Reason};

/// Failures of the server rather than of the vault.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ServingError {
    /// No place in the pool of workers was had in time.
    #[error("The server is busy: waited {waited_ms} ms for a place. Nothing was written.")]
    ServerBusy { waited_ms: u64 },
    /// A message is longer than the transport takes.
    #[error("The message is longer than {cap_in_bytes} bytes. Nothing was written.")]
    RequestTooLarge { cap_in_bytes: u64 },
    /// The call was cancelled before anything was published.
    #[error("The call was cancelled. Nothing was written.")]
    Cancelled {},
    /// A fault of this program.
    #[error("This program failed in an unforeseen way. It is not known whether anything was written.")]
    Internal {},
}

impl Reason for ServingError {
    fn class(&self) -> Class {
        match self {
            Self::ServerBusy { .. } => Class::Unavailable,
            Self::RequestTooLarge { .. } | Self::Cancelled {} => Class::InvalidRequest,
            Self::Internal {} => Class::Internal,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::ServerBusy { .. })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::ServerBusy { .. } => Exit::Io,
            Self::RequestTooLarge { .. } => Exit::TooLarge,
            Self::Cancelled {} => Exit::Rejected,
            Self::Internal {} => Exit::Internal,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::ServerBusy { .. } => "Call again in a moment.".into(),
            Self::RequestTooLarge { .. } => {
                "Send less at once; files go as base64, or by the `write` command of the shell.".into()
            }
            Self::Cancelled {} => "Call again if it is still wanted.".into(),
            Self::Internal {} => "Read the file again before the next call, and report this as a bug.".into(),
        }
    }
}
