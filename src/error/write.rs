//! Preconditions, publication and the file system beneath it.
#![expect(
    missing_docs,
    reason = "facts and sub-causes have one meaning everywhere; the variants say what happened"
)]

use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Exit, Reason};

/// What the other writer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RaceProblem {
    Content,
    OpenWriter,
    Replaced,
    Deleted,
}

impl RaceProblem {
    const fn words(self) -> &'static str {
        match self {
            Self::Content => "its bytes changed",
            Self::OpenWriter => "another program has it open for writing",
            Self::Replaced => "another file took its name",
            Self::Deleted => "it was deleted",
        }
    }
}

/// Why the bytes there cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnguardableProblem {
    Unreadable,
}

/// Failures of a write. The file is as its last foreign writer left it.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum WriteError {
    /// A hash was given where nothing is or may be replaced.
    #[error("A hash was given, but nothing may be replaced at `{path}`. Nothing was written.")]
    NoIncumbent { path: String },
    /// The bytes there cannot be hashed, so they cannot be guarded.
    #[error("The bytes at `{path}` cannot be compared with a hash. Nothing was written.")]
    PreconditionUnavailable {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        size_in_bytes: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cap_in_bytes: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        setting: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<UnguardableProblem>,
    },
    /// This server replaces nothing without the hash of what it replaces.
    #[error("This server replaces `{path}` only with its hash. Nothing was written.")]
    PreconditionRequired { path: String, current_hash: String, current_size_in_bytes: u64 },
    /// The bytes there are not those the caller read.
    #[error("`{path}` has changed since the hash was taken. Nothing was written.")]
    StalePrecondition { path: String, current_hash: String, current_size_in_bytes: u64 },
    /// Another writer came between the read and the publication of this call.
    #[error("`{path}` was changed by another writer during this call: {}. {}", problem.words(), race_words(*published))]
    ConcurrentWrite {
        path: String,
        problem: RaceProblem,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        published: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        parked_at: Option<String>,
        #[serde(skip)]
        guarded: bool,
    },
    /// The name is taken.
    #[error("`{existing_path}` exists and was not replaced. Nothing was written.")]
    FileExists {
        path: String,
        existing_path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        current_hash: Option<String>,
        size_in_bytes: u64,
    },
    /// The folder was moved or removed while the file was being published.
    #[error("The folder of `{path}` was moved during the call. {}", moved_words(*published))]
    ParentMoved { path: String, published: bool },
    /// The file system cannot hold a file without a name, which a create without clobbering needs.
    #[error(
        "The file system of `{path}` cannot stage an unnamed file, and {setting} is not set. Nothing was written."
    )]
    StagingUnsupported { path: String, setting: &'static str },
    /// The name lies behind a mount that no rename or link can cross.
    #[error("`{path}` lies behind a mount boundary that a publication cannot cross. Nothing was written.")]
    MountBoundary { path: String },
    /// The disk or a quota is full.
    #[error("There is no space left for `{path}`. Nothing was written.")]
    NoSpace { path: String },
    /// The file system is mounted read-only.
    #[error("The file system of `{path}` is read-only. Nothing was written.")]
    ReadOnlyFilesystem { path: String },
    /// The kernel refuses for lack of permission, or because of an immutable or append-only flag.
    #[error("The system does not permit it on `{path}`. Nothing was written.")]
    PermissionDenied { path: String },
    /// A lock or another program's lease was not had in time.
    #[error("`{path}` is busy: waited {waited_ms} ms. Nothing was written.")]
    VaultBusy { path: String, waited_ms: u64 },
    /// The process is out of handles or memory.
    #[error("This process is out of file handles or memory. Nothing was written.")]
    ResourceExhausted { path: String },
    /// The system reports an I/O error.
    #[error("The system reports {errno} at {step} for `{path}`. Nothing was written.")]
    IoError { path: String, step: &'static str, errno: String },
}

impl WriteError {
    /// A file over the cap of what is hashed, which cannot be guarded.
    pub fn over_hash_cap(path: &str, size_in_bytes: u64, cap_in_bytes: u64) -> Self {
        Self::PreconditionUnavailable {
            path: path.to_owned(),
            size_in_bytes: Some(size_in_bytes),
            cap_in_bytes: Some(cap_in_bytes),
            setting: Some("MAX_HASH_BYTES"),
            problem: None,
        }
    }

    /// A file that may not be read, which cannot be guarded.
    pub fn unreadable(path: &str) -> Self {
        Self::PreconditionUnavailable {
            path: path.to_owned(),
            size_in_bytes: None,
            cap_in_bytes: None,
            setting: None,
            problem: Some(UnguardableProblem::Unreadable),
        }
    }
}

const fn race_words(published: bool) -> &'static str {
    if published {
        "The system then refused to put its bytes back: the new bytes stand at the name."
    } else {
        super::NOTHING_WRITTEN
    }
}

const fn moved_words(published: bool) -> &'static str {
    if published {
        "The file was written and lies where its folder was moved."
    } else {
        super::NOTHING_WRITTEN
    }
}

impl Reason for WriteError {
    fn class(&self) -> Class {
        match self {
            Self::StagingUnsupported { .. }
            | Self::MountBoundary { .. }
            | Self::NoSpace { .. }
            | Self::ReadOnlyFilesystem { .. }
            | Self::VaultBusy { .. }
            | Self::ResourceExhausted { .. } => Class::Unavailable,
            Self::PermissionDenied { .. } => Class::Forbidden,
            Self::IoError { .. } => Class::Internal,
            _ => Class::Conflict,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::ConcurrentWrite { published: true, .. } => false,
            Self::ConcurrentWrite { problem, guarded, .. } => !guarded || *problem == RaceProblem::OpenWriter,
            Self::ParentMoved { published, .. } => !published,
            Self::VaultBusy { .. } | Self::ResourceExhausted { .. } => true,
            _ => false,
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::NoIncumbent { .. }
            | Self::PreconditionUnavailable { .. }
            | Self::PreconditionRequired { .. }
            | Self::StalePrecondition { .. } => Exit::Precondition,
            Self::ConcurrentWrite { published: false, .. }
            | Self::VaultBusy { .. }
            | Self::ParentMoved { published: false, .. } => Exit::Concurrent,
            Self::ParentMoved { .. } | Self::ConcurrentWrite { .. } => Exit::Partial,
            Self::FileExists { .. } => Exit::Exists,
            Self::StagingUnsupported { .. } | Self::MountBoundary { .. } => Exit::Unsupported,
            _ => Exit::Io,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NoIncumbent { .. } => {
                "Drop the hash to create the file, or add `overwrite: true` to replace one that exists."
                    .into()
            }
            Self::PreconditionUnavailable { setting: Some(setting), .. } => {
                format!("Ask the operator to raise {setting}, or write without a hash where that is allowed.")
            }
            Self::PreconditionUnavailable { .. } => {
                "Ask the operator for read permission on the file.".into()
            }
            Self::PreconditionRequired { .. } => "Read the file, then send its hash with the write.".into(),
            Self::StalePrecondition { .. } => {
                "Read the file again, redo the edit on it, send its new hash.".into()
            }
            Self::ConcurrentWrite { published: true, parked_at: Some(id), .. } => {
                format!("Read the file again; what was displaced is kept in the history as {id}.")
            }
            Self::ConcurrentWrite { published: true, .. } => {
                "Read the file again; what was displaced is in the vault's staging folder until the next start.".into()
            }
            Self::ConcurrentWrite { problem: RaceProblem::OpenWriter, .. } => {
                "Call again once the other program has closed the file.".into()
            }
            Self::ConcurrentWrite { guarded: true, .. } => {
                "Read the file again, then call with its new hash.".into()
            }
            Self::ConcurrentWrite { .. } | Self::ParentMoved { published: false, .. } => "Call again.".into(),
            Self::FileExists { .. } => {
                "Choose another name, or replace it with `overwrite: true` and its hash.".into()
            }
            Self::ParentMoved { .. } => "Look for the file in the folder's new place.".into(),
            Self::StagingUnsupported { setting, .. } => {
                format!("Ask the operator to set {setting}=true, which stages in a dot-folder instead.")
            }
            Self::MountBoundary { .. } => "Choose a path on the vault's own file system.".into(),
            Self::NoSpace { .. } => "Free space, then call again.".into(),
            Self::ReadOnlyFilesystem { .. } => "Mount the vault writable, or only read.".into(),
            Self::PermissionDenied { .. } => {
                "Ask the operator to check owner, mode and flags of the file and its folder.".into()
            }
            Self::VaultBusy { .. } | Self::ResourceExhausted { .. } => "Call again in a moment.".into(),
            Self::IoError { .. } => "Check the disk and the system log, then read the file again.".into(),
        }
    }
}
