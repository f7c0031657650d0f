//! Names, links and kinds of files.
#![expect(
    missing_docs,
    reason = "facts and sub-causes have one meaning everywhere; the variants say what happened"
)]

use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Exit, Reason};

/// What is wrong with the spelling of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathProblem {
    Empty,
    Control,
    ComponentTooLong,
    TooLong,
    TrailingSlash,
}

impl PathProblem {
    const fn words(self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Control => "it holds a control character",
            Self::ComponentTooLong => "one of its names is longer than 255 bytes",
            Self::TooLong => "it is longer than 4095 bytes",
            Self::TrailingSlash => "it ends with a slash",
        }
    }
}

/// How a link leads nowhere usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkProblem {
    Outside,
    Loop,
}

/// A thing that is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Fifo,
    Socket,
    Device,
}

/// What a policy was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOp {
    Read,
    Write,
}

/// Which rule of the policy refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyReason {
    OutsideReadPaths,
    OutsideWritePaths,
    DeniedPath,
    ReadOnlyMode,
}

/// Failures of a path: its spelling, what it leads to, what lies there.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PathError {
    /// The path is not one that a vault can hold.
    #[error("`{path}` cannot name a file: {}. Nothing was written.", problem.words())]
    PathInvalid { path: String, problem: PathProblem },
    /// The path has a `.` or `..` segment.
    #[error("`{path}` has a `.` or `..` segment. Nothing was written.")]
    PathTraversal { path: String },
    /// The path is absolute.
    #[error("`{path}` is absolute; paths are relative to the vault. Nothing was written.")]
    PathAbsolute {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        relative_path: Option<String>,
    },
    /// A name on the path starts with a dot, or the path leads to such a name.
    #[error("`{path}` is hidden: a name on it starts with a dot. Nothing was written.")]
    HiddenPath { path: String },
    /// The operator's path policy refuses it.
    #[error("The path policy of this server refuses to {} `{path}`. Nothing was written.", op_words(*op))]
    PathForbidden {
        path: String,
        op: PolicyOp,
        subreason: PolicyReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        active_scope: Option<Vec<String>>,
    },
    /// The path is a folder.
    #[error("`{path}` is a folder. Nothing was written.")]
    PathIsDirectory { path: String },
    /// The path is a fifo, socket or device.
    #[error("`{path}` is not a regular file. Nothing was written.")]
    NotAFile { path: String, problem: FileKind },
    /// A name on the way is a file.
    #[error("`{existing_path}` on the way to `{path}` is not a folder. Nothing was written.")]
    NotADirectory { path: String, existing_path: String },
    /// The path is a symbolic link, which is never written through.
    #[error("`{path}` is a symbolic link{}. Nothing was written.", to(target.as_deref()))]
    SymlinkRefused {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// A link on the path leaves the vault or goes in a circle.
    #[error("`{path}` does not stay in the vault: a link on it {}. Nothing was written.", link_words(*problem))]
    SymlinkEscapes { path: String, problem: LinkProblem },
    /// There is no such file.
    #[error("There is no file at `{path}`. Nothing was written.")]
    FileMissing { path: String, suggestions: Vec<String> },
    /// Several names on disk fit.
    #[error("`{path}` fits several files. Nothing was written.")]
    AmbiguousPath { path: String, candidates: Vec<String> },
    /// A sibling's name differs only in case.
    #[error("A name that differs from `{path}` only in case exists. Nothing was written.")]
    CaseVariantExists {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        existing_path: Option<String>,
    },
    /// The file changed during each of three reads.
    #[error("`{path}` keeps changing while it is read. Nothing was written.")]
    FileChanging { path: String },
    /// The bytes are not UTF-8 text.
    #[error("`{path}` is not UTF-8 text: it breaks at byte {offset_in_bytes}. Nothing was written.")]
    NotUtf8 {
        path: String,
        offset_in_bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
    },
    /// A size is over its cap.
    #[error("{size_in_bytes} bytes for `{path}` are over the cap of {cap_in_bytes}. Nothing was written.")]
    TooLarge {
        path: String,
        size_in_bytes: u64,
        cap_in_bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        setting: Option<&'static str>,
    },
}

impl PathError {
    /// Refuses a size over the cap of one write (`too_large`), naming its setting.
    pub fn refuse_over_write_cap(path: &str, size_in_bytes: u64, cap_in_bytes: u64) -> Result<(), Self> {
        if size_in_bytes <= cap_in_bytes {
            return Ok(());
        }
        let setting = Some("MAX_FILE_WRITE_BYTES");
        Err(Self::TooLarge { path: path.to_owned(), size_in_bytes, cap_in_bytes, setting })
    }
}

const fn op_words(op: PolicyOp) -> &'static str {
    match op {
        PolicyOp::Read => "read",
        PolicyOp::Write => "write",
    }
}

fn to(target: Option<&str>) -> String {
    target.map_or_else(String::new, |target| format!(" to {target}"))
}

const fn link_words(problem: LinkProblem) -> &'static str {
    match problem {
        LinkProblem::Outside => "leads outside",
        LinkProblem::Loop => "goes in a circle",
    }
}

impl Reason for PathError {
    fn class(&self) -> Class {
        match self {
            Self::PathForbidden { .. } | Self::SymlinkRefused { .. } | Self::SymlinkEscapes { .. } => {
                Class::Forbidden
            }
            Self::FileMissing { .. } => Class::NotFound,
            Self::AmbiguousPath { .. } | Self::CaseVariantExists { .. } | Self::FileChanging { .. } => {
                Class::Conflict
            }
            _ => Class::Validation,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::FileChanging { .. })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::NotAFile { .. } | Self::NotADirectory { .. } | Self::NotUtf8 { .. } => Exit::Rejected,
            Self::FileMissing { .. } => Exit::NotFound,
            Self::AmbiguousPath { .. } => Exit::Ambiguous,
            Self::CaseVariantExists { .. } => Exit::Exists,
            Self::FileChanging { .. } => Exit::Concurrent,
            Self::TooLarge { .. } => Exit::TooLarge,
            _ => Exit::Refused,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::PathInvalid { .. } => "Fix the name: `Folder/Name.ext`, relative to the vault.".into(),
            Self::PathTraversal { .. } => "Send the path without dot segments, relative to the vault.".into(),
            Self::PathAbsolute { relative_path: Some(relative), .. } => format!("Send `{relative}` instead."),
            Self::PathAbsolute { .. } => {
                "Send a path relative to the vault; pass another vault's folder as `vaultPath`.".into()
            }
            Self::HiddenPath { .. } => "Use a path outside dot-folders and dot-files.".into(),
            Self::PathForbidden { subreason, active_scope, .. } => {
                forbidden_hint(*subreason, active_scope.as_deref())
            }
            Self::PathIsDirectory { .. } => "Name a file inside the folder.".into(),
            Self::NotAFile { .. } => "Choose another name: only regular files are read and written.".into(),
            Self::NotADirectory { existing_path, .. } => {
                format!("Choose a path that does not go through `{existing_path}`.")
            }
            Self::SymlinkRefused { .. } => "Write to the path the link points to.".into(),
            Self::SymlinkEscapes { .. } => "Use a path without that link.".into(),
            Self::FileMissing { suggestions, .. } => missing_hint(suggestions),
            Self::AmbiguousPath { .. } => "Send one of the `candidates`.".into(),
            Self::CaseVariantExists { existing_path: Some(existing), .. } => {
                format!("Spell it `{existing}` as on disk, or choose a name that differs in more than case.")
            }
            Self::CaseVariantExists { .. } => "Choose a name that differs in more than case.".into(),
            Self::FileChanging { .. } => "Call again once the other program is done.".into(),
            Self::NotUtf8 { .. } => "Call `read_file` with encoding \"base64\".".into(),
            Self::TooLarge { setting: Some(setting), .. } => {
                format!("Send less, or ask the operator to raise {setting}.")
            }
            Self::TooLarge { .. } => "Send less at once.".into(),
        }
    }
}

fn missing_hint(suggestions: &[String]) -> String {
    match suggestions.first() {
        Some(near) => format!("Did you mean `{near}`? Otherwise create it with `write_file` and no hash."),
        None => "Check the path, or create the file with `write_file` and no hash.".into(),
    }
}

fn forbidden_hint(subreason: PolicyReason, scope: Option<&[String]>) -> String {
    match (subreason, scope) {
        (PolicyReason::DeniedPath, _) => {
            "The operator withholds it (OBSIDIAN_DENY_PATHS); use another path.".into()
        }
        (PolicyReason::ReadOnlyMode, _) => "The server is read-only (OBSIDIAN_READ_ONLY); only read.".into(),
        (_, Some(scope)) if !scope.is_empty() => format!("Use a path in: {}.", scope.join(", ")),
        _ => "Use a path the operator has opened.".into(),
    }
}
