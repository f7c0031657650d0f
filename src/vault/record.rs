//! What clients see of a vault.

use schemars::JsonSchema;
use serde::Serialize;

/// Where a known vault comes from; the earlier outranks the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum Source {
    EnvDefault,
    EnvNamed,
    ObsidianApp,
    AdHoc,
}

/// A vault as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "these are independent facts of the wire form")]
pub struct VaultRecord {
    /// Stable id, for `vault_select`.
    pub id: String,
    /// Name, for `vault_select`.
    pub name: String,
    /// Absolute folder as it was configured.
    pub path: String,
    /// Real folder, when it differs from `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_path: Option<String>,
    /// It is the vault of `OBSIDIAN_VAULT_PATH`.
    pub is_default: bool,
    /// A call without `vaultPath` acts on it now.
    pub is_active: bool,
    /// Where it is known from.
    pub source: Source,
    /// When Obsidian last opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_opened: Option<String>,
    /// The folder is there now.
    pub exists: bool,
    /// The folder holds `.obsidian`.
    pub initialized: bool,
    /// Obsidian says it has it open; may be stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Other ids of the same folder.
    pub alias_ids: Vec<String>,
    /// Other names of the same folder.
    pub alias_names: Vec<String>,
}

/// A thing in the configuration that was dropped or read otherwise than it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// The variable, or the registry file and its entry.
    #[serde(rename = "where")]
    pub place: String,
    /// What was wrong.
    pub message: String,
}

/// A registry file of Obsidian that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryFile {
    /// Which of the usual places it is.
    pub label: &'static str,
    /// Its absolute path.
    pub path: String,
    /// How many listed vaults it names.
    pub vaults: usize,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
