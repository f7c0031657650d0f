//! Every way a call can fail, as one type.
//!
//! A family is an enum, a variant is a reason: its name in snake case is what clients see. Facts are fields.
//! Nothing here knows MCP, the command line or a syscall.

mod arguments;
mod path;
mod report;
mod serving;
mod vault;
mod write;

pub use arguments::{ArgumentProblem, ArgumentsError};
pub use path::{FileKind, LinkProblem, PathError, PathProblem, PolicyOp, PolicyReason};
pub use report::reasons;
pub use serving::ServingError;
pub use vault::{KnownVault, RootProblem, VaultCandidate, VaultError, VaultRelation};
pub use write::{RaceProblem, UnguardableProblem, WriteError};

use schemars::JsonSchema;
use serde::Serialize;

/// The sentence a message ends with when nothing in the vault was changed.
pub(crate) const NOTHING_WRITTEN: &str = "Nothing was written.";

/// A failure of a call: one variant per family of reasons.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Error {
    /// What the caller sent.
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    /// Names, links and kinds of files.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Preconditions, publication and the file system beneath it.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Which vault.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The running server itself.
    #[error(transparent)]
    Serving(#[from] ServingError),
}

impl Error {
    /// The family's view of this error.
    pub fn reason(&self) -> &dyn Reason {
        match self {
            Self::Arguments(error) => error,
            Self::Path(error) => error,
            Self::Write(error) => error,
            Self::Vault(error) => error,
            Self::Serving(error) => error,
        }
    }
}

/// The longest path that a failure repeats whole: longer ones name nothing.
const ECHO_MAX: usize = 4095;

/// A caller's path or name as a failure repeats it: whole, or its beginning, so that an answer stays short.
pub fn echo(path: &str) -> String {
    if path.len() <= ECHO_MAX {
        return path.to_owned();
    }
    path.chars().take(100).chain(['…']).collect()
}

impl Error {
    /// A refusal by the path policy with the path as the caller wrote it, separators and all.
    #[must_use]
    pub fn naming(self, given: &str) -> Self {
        match self {
            Self::Path(PathError::PathForbidden { op, subreason, active_scope, .. }) => {
                PathError::PathForbidden { path: given.to_owned(), op, subreason, active_scope }.into()
            }
            other => other,
        }
    }
}

/// What every reason can say about itself beside its message and facts.
pub trait Reason {
    /// The class, which gives `code`.
    fn class(&self) -> Class;
    /// The same arguments may succeed later.
    fn retryable(&self) -> bool;
    /// What the command line ends with.
    fn exit(&self) -> Exit;
    /// One imperative sentence: the next call to make.
    fn hint(&self) -> String;
}

/// The kind of a failure, from which its JSON-RPC number comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request cannot be served in this state.
    InvalidRequest,
    /// The arguments have the wrong shape.
    InvalidParams,
    /// Something unforeseen.
    Internal,
    /// Not possible now, or not here.
    Unavailable,
    /// No such thing.
    NotFound,
    /// The vault is not as the caller believes.
    Conflict,
    /// A bound on work was reached.
    Timeout,
    /// Refused by rule or permission.
    Forbidden,
    /// Not who the caller claims.
    Unauthorized,
    /// The arguments have a shape that no vault could accept.
    Validation,
    /// The operator must change something.
    Configuration,
}

impl Class {
    /// The number that stands in `code`; never one of the range MCP reserves.
    pub const fn code(self) -> i32 {
        match self {
            Self::InvalidRequest => -32600,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::Unavailable => -32000,
            Self::NotFound => -32001,
            Self::Conflict => -32002,
            Self::Timeout => -32004,
            Self::Forbidden => -32005,
            Self::Unauthorized => -32006,
            Self::Validation => -32007,
            Self::Configuration => -32008,
        }
    }
}

/// How a command ends. `cli::exit` gives the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, a no-op and a dry run included.
    Ok,
    /// Anything unforeseen.
    Internal,
    /// Flags, configuration, arguments, unknown tool.
    Usage,
    /// No such file, note, section or vault.
    NotFound,
    /// The name is taken.
    Exists,
    /// The precondition ladder.
    Precondition,
    /// Something else is writing.
    Concurrent,
    /// Paths, links, policy, gate.
    Refused,
    /// Over a cap.
    TooLarge,
    /// The file system cannot do it.
    Unsupported,
    /// Space, permission, handles, I/O.
    Io,
    /// Published, but not durable, and durability was required.
    NotDurable,
    /// The running Obsidian.
    App,
    /// Several candidates.
    Ambiguous,
    /// Something was written that could not be undone.
    Partial,
    /// Every other tool failure.
    Rejected,
}
