//! Which vault.
#![expect(
    missing_docs,
    reason = "facts and sub-causes have one meaning everywhere; the variants say what happened"
)]

use schemars::JsonSchema;
use serde::Serialize;

use super::{Class, Exit, Reason};

/// A vault that can be named in an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownVault {
    /// Its stable id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// One of several vaults that fit a selector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VaultCandidate {
    /// Its stable id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its absolute folder.
    pub path: String,
    /// The folder is there now.
    pub exists: bool,
}

/// Why a folder may not be a vault's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RootProblem {
    SystemRoot,
    HomeRoot,
    DotRoot,
    AdHocOff,
}

impl RootProblem {
    const fn words(self) -> &'static str {
        match self {
            Self::SystemRoot => "it belongs to the system",
            Self::HomeRoot => "it is the home folder or holds it",
            Self::DotRoot => "it is a dot-folder",
            Self::AdHocOff => "vaults that are not configured are off (VAULT_AD_HOC)",
        }
    }
}

/// How two vault folders lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VaultRelation {
    Inside,
    Contains,
}

/// Failures of choosing a vault. None of them changes the selection.
#[derive(Debug, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum VaultError {
    /// No vault was named, selected or configured.
    #[error("No vault is chosen. Nothing was written.")]
    VaultRequired { vaults: Vec<KnownVault> },
    /// No known vault has that id or name.
    #[error("No known vault is called `{selector}`. Nothing was written.")]
    VaultNotFound {
        selector: String,
        suggestions: Vec<String>,
        #[serde(skip)]
        gated: bool,
    },
    /// Several known vaults have that name.
    #[error("Several vaults fit. Nothing was written.")]
    AmbiguousVault { candidates: Vec<VaultCandidate> },
    /// The vault's folder is not there.
    #[error("There is no folder at `{path}`. Nothing was written.")]
    VaultMissing { path: String },
    /// The vault's path is a file.
    #[error("`{path}` is not a folder. Nothing was written.")]
    VaultNotADirectory { path: String },
    /// A vault path is not absolute.
    #[error("`{path}` is not an absolute path. Nothing was written.")]
    VaultPathNotAbsolute { path: String },
    /// The operator's vault lists exclude it.
    #[error("The operator does not allow the vault at `{path}`. Nothing was written.")]
    VaultForbidden { path: String },
    /// The folder is never served as a vault.
    #[error("`{path}` is not served as a vault: {}. Nothing was written.", problem.words())]
    VaultRootRefused { path: String, problem: RootProblem },
    /// The folder overlaps a known vault while lists are set that such a root would escape.
    #[error("`{path}` {} a known vault. Nothing was written.", relation_words(*relation))]
    VaultOverlap {
        path: String,
        relation: VaultRelation,
        #[serde(skip_serializing_if = "Option::is_none")]
        other: Option<String>,
    },
    /// The folder cannot be read.
    #[error("The folder `{path}` cannot be read. Nothing was written.")]
    VaultUnreadable { path: String },
    /// A selection could not be kept for the next call.
    #[error("This connection cannot keep a selection. Nothing was selected, nothing was written.")]
    SelectionUnavailable { vault_path: String, active: Option<serde_json::Value> },
}

const fn relation_words(relation: VaultRelation) -> &'static str {
    match relation {
        VaultRelation::Inside => "lies inside",
        VaultRelation::Contains => "contains",
    }
}

impl Reason for VaultError {
    fn class(&self) -> Class {
        match self {
            Self::VaultRequired { .. } | Self::SelectionUnavailable { .. } => Class::InvalidRequest,
            Self::VaultNotFound { .. } | Self::VaultMissing { .. } => Class::NotFound,
            Self::AmbiguousVault { .. } => Class::Conflict,
            Self::VaultNotADirectory { .. } | Self::VaultPathNotAbsolute { .. } => Class::Validation,
            Self::VaultForbidden { .. }
            | Self::VaultRootRefused { .. }
            | Self::VaultOverlap { .. }
            | Self::VaultUnreadable { .. } => Class::Forbidden,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::VaultMissing { .. })
    }

    fn exit(&self) -> Exit {
        match self {
            Self::VaultRequired { .. } | Self::VaultNotFound { .. } | Self::VaultMissing { .. } => {
                Exit::NotFound
            }
            Self::AmbiguousVault { .. } => Exit::Ambiguous,
            Self::VaultNotADirectory { .. } | Self::SelectionUnavailable { .. } => Exit::Rejected,
            Self::VaultUnreadable { .. } => Exit::Io,
            _ => Exit::Refused,
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::VaultRequired { vaults } => required_hint(vaults),
            Self::VaultNotFound { gated: true, .. } => {
                "Call `vault_list` for the known vaults; the operator may exclude this one.".into()
            }
            Self::VaultNotFound { .. } => "Call `vault_list` for the known vaults.".into(),
            Self::AmbiguousVault { candidates } => {
                let ids: Vec<_> = candidates.iter().map(|one| one.id.as_str()).collect();
                format!("Select by one of these ids: {}.", ids.join(", "))
            }
            Self::VaultMissing { .. } => "The folder is gone or not mounted; nothing was created in its place. Mount it, or choose another vault with `vault_list`.".into(),
            Self::VaultNotADirectory { .. } => "Pass the folder that contains the notes.".into(),
            Self::VaultPathNotAbsolute { .. } => "Give the absolute path; `~` is not expanded here.".into(),
            Self::VaultForbidden { .. } => "Choose another vault with `vault_list`; this one is excluded by KOBSIDIAN_VAULT_ALLOW or KOBSIDIAN_VAULT_DENY.".into(),
            Self::VaultRootRefused { .. } => "Choose the vault folder itself.".into(),
            Self::VaultOverlap { .. } => "Use the enclosing vault with a path inside it.".into(),
            Self::VaultUnreadable { .. } => "Ask the operator to check the permissions of the folder.".into(),
            Self::SelectionUnavailable { vault_path, .. } => {
                format!("Pass `vaultPath`: \"{vault_path}\" with each call.")
            }
        }
    }
}

fn required_hint(vaults: &[KnownVault]) -> String {
    let mut hint = "Call `vault_select`, pass `vaultPath`, or set OBSIDIAN_VAULT_PATH.".to_owned();
    if !vaults.is_empty() {
        let names: Vec<_> = vaults.iter().map(|vault| vault.name.as_str()).collect();
        hint.push_str(" Known vaults: ");
        hint.push_str(&names.join(", "));
        hint.push('.');
    }
    hint
}
