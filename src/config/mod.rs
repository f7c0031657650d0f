//! Settings: validated once at start, never read again.

use crate::{
    path::PathPolicy,
    vault::{FileConfig, VaultConfig},
};

/// What this process was told to do; every field is validated.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which vaults are known and allowed.
    pub vaults: VaultConfig,
    /// Bounds and guarantees of reads and writes.
    pub files: FileConfig,
    /// Who may read and write which paths of every vault.
    pub policy: PathPolicy,
    /// How tools are listed.
    pub tool_names: ToolNameStyle,
    /// Level of our own log lines: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
}

/// The spelling in which dotted seed names are listed; a call is accepted in either.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolNameStyle {
    /// `vault_select`.
    #[default]
    Underscore,
    /// `vault.select`.
    Dotted,
}

/// Every setting as a flag and an environment variable, unvalidated.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {}

/// A setting that no server can start with.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct ConfigError {
    /// The variable, with its flag.
    pub setting: String,
    /// What is wrong with it.
    pub message: String,
}

impl TryFrom<Args> for Config {
    type Error = ConfigError;

    fn try_from(_args: Args) -> Result<Self, ConfigError> {
        Err(ConfigError { setting: "OBSIDIAN_VAULT_PATH".into(), message: "not read yet".into() })
    }
}
