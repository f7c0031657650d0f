//! Settings: read and validated once at start, never again.

mod environment;
mod serve;
mod settings;
mod value;
mod vault;
mod write;

pub use environment::Environment;
pub use serve::{ServeArgs, ToolNameStyle};
pub use settings::{Setting, settings};
pub use vault::VaultArgs;
pub use write::WriteArgs;

use crate::{
    path::{PathPolicy, policy::ListError},
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

/// Every setting as a flag and an environment variable, unvalidated.
///
/// The values are raw text, so that an empty variable or an unfilled `${...}` counts as unset, and so that a wrong
/// one is refused by [`Config::load`], which names the variable and the flag.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Vaults and paths.
    #[command(flatten)]
    pub vaults: VaultArgs,
    /// Reads and writes.
    #[command(flatten)]
    pub files: WriteArgs,
    /// The server.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// A setting that no server can start with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct ConfigError {
    /// The variable, with its flag.
    pub setting: String,
    /// What is wrong with it.
    pub message: String,
}

impl Args {
    /// `--vault` is there, and empty or a placeholder that nobody filled.
    pub fn names_no_vault(&self) -> bool {
        self.vaults.vault.as_ref().is_some_and(|value| value::given(value).is_none())
    }

    /// Takes an id or a name out of `--vault`, where the command is any but `serve`.
    ///
    /// A value with `/`, or `.`, is a path and stays: it becomes the default vault. After a taken id or name the
    /// default is that of the environment again, and the vault is looked up by id, then by name. `serve` does not
    /// call this: there the flag is a path.
    pub fn take_vault_selector(&mut self) -> Option<String> {
        self.vaults.vault.take_if(|value| value::given(value).is_some_and(|given| !is_path(given)))
    }
}

/// How a vault was named: by its folder, and not by an id or a name.
pub fn is_path(vault: &str) -> bool {
    vault == "." || vault.contains('/')
}

impl Config {
    /// Validates the arguments; the first setting that is wrong is the error.
    ///
    /// No file is read; that the source folders exist is looked up.
    pub fn load(args: &Args, environment: &Environment) -> Result<Self, ConfigError> {
        args.serve.check_transport()?;
        let policy = args.vaults.policy()?;
        let mut files = args.files.files(environment)?;
        files.sweeps = !policy.is_read_only();
        Ok(Self {
            vaults: args.vaults.vaults(environment)?,
            files,
            policy,
            tool_names: args.serve.tool_names()?,
            log_level: args.serve.log_level()?,
        })
    }

    /// What the log says at start, at `warn`: each path list in force, and what the operator may not have meant.
    pub fn notices(&self) -> Vec<String> {
        let lists = self.policy.lists().map(|(name, entries)| format!("{name}: {}", entries.join(", ")));
        let doubts = self.policy.warnings().into_iter().map(|(name, message)| format!("{name}: {message}"));
        let vaults = self.vaults.warnings.iter().map(|(name, message)| format!("{name}: {message}"));
        lists.chain(doubts).chain(vaults).collect()
    }
}

impl TryFrom<Args> for Config {
    type Error = ConfigError;

    fn try_from(args: Args) -> Result<Self, ConfigError> {
        Self::load(&args, &Environment::of_process())
    }
}

impl ConfigError {
    fn of(variable: &str, message: impl Into<String>) -> Self {
        Self { setting: format!("{variable} (--{})", settings::flag(variable)), message: message.into() }
    }
}

impl From<ListError> for ConfigError {
    fn from(error: ListError) -> Self {
        Self::of(error.variable, error.message)
    }
}

#[cfg(test)]
mod tests;
