//! Settings of vaults and of the paths in them.

use super::{ConfigError, Environment, value::Given};
use crate::{
    fs::host::HostPath,
    path::{
        PathPolicy,
        policy::{DENY_PATHS, READ_PATHS, WRITE_PATHS},
    },
    vault::VaultConfig,
};

const DEFAULT_VAULT: &str = "OBSIDIAN_VAULT_PATH";
const NAMED_VAULT: &str = "OBSIDIAN_VAULT_<NAME>";
const NAMED_PREFIX: &str = "OBSIDIAN_VAULT_";

/// Settings of vaults and of the paths in them, unvalidated.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Vaults and paths")]
pub struct VaultArgs {
    /// The default vault: its folder; for other commands than `serve` also the id or name of a known vault
    #[arg(long, global = true, value_name = "PATH")]
    pub vault: Option<String>,

    /// Another vault that can be selected by this name; the flag can be repeated
    #[arg(long, global = true, value_name = "NAME=PATH")]
    pub named_vault: Vec<String>,

    /// Vaults that the Obsidian app knows are known here too
    #[arg(
        long, env = "KOBSIDIAN_VAULT_DISCOVERY", global = true, value_name = "BOOL", default_value = "on",
        num_args = 0..=1, require_equals = true, default_missing_value = "on"
    )]
    pub vault_discovery: Option<String>,

    /// The one `obsidian.json` to read, instead of those found
    #[arg(long, env = "KOBSIDIAN_OBSIDIAN_CONFIG", global = true, value_name = "FILE")]
    pub obsidian_config: Option<String>,

    /// The only vaults that may be used, beside the default: ids, names, folders, `folder/*`, `folder/**`
    #[arg(long, env = "KOBSIDIAN_VAULT_ALLOW", global = true, value_name = "VAULTS")]
    pub vault_allow: Option<String>,

    /// Vaults that may not be used, in the same forms; it wins over the list of those that may
    #[arg(long, env = "KOBSIDIAN_VAULT_DENY", global = true, value_name = "VAULTS")]
    pub vault_deny: Option<String>,

    /// A folder that is no known vault may be used as one
    #[arg(
        long, env, global = true, value_name = "BOOL", default_value = "on",
        num_args = 0..=1, require_equals = true, default_missing_value = "on"
    )]
    pub vault_ad_hoc: Option<String>,

    /// The only paths that may be read, separated by commas; paths that may be written may be read too
    #[arg(long, env = "OBSIDIAN_READ_PATHS", global = true, value_name = "PATHS")]
    pub read_paths: Option<String>,

    /// The only paths that may be written
    #[arg(long, env = "OBSIDIAN_WRITE_PATHS", global = true, value_name = "PATHS")]
    pub write_paths: Option<String>,

    /// Paths that may be neither read nor written; it wins over the other lists
    #[arg(long, env = "OBSIDIAN_DENY_PATHS", global = true, value_name = "PATHS")]
    pub deny_paths: Option<String>,

    /// Nothing may be written; the tools that write are not listed
    #[arg(
        long, env = "OBSIDIAN_READ_ONLY", global = true, value_name = "BOOL", default_value = "false",
        num_args = 0..=1, require_equals = true, default_missing_value = "true"
    )]
    pub read_only: Option<String>,
}

impl VaultArgs {
    pub(super) fn policy(&self) -> Result<PathPolicy, ConfigError> {
        let read = Given::new(READ_PATHS, self.read_paths.as_ref()).text();
        let write = Given::new(WRITE_PATHS, self.write_paths.as_ref()).text();
        let deny = Given::new(DENY_PATHS, self.deny_paths.as_ref()).text();
        let read_only = Given::new("OBSIDIAN_READ_ONLY", self.read_only.as_ref()).boolean(false)?;
        Ok(PathPolicy::parse(read, write, deny, read_only)?)
    }

    pub(super) fn vaults(&self, environment: &Environment) -> Result<VaultConfig, ConfigError> {
        let Named { vaults: named, warnings } = self.named(environment)?;
        let on = |variable, value: &Option<String>| Given::new(variable, value.as_ref()).boolean(true);
        let list = |variable, value: &Option<String>| Given::new(variable, value.as_ref()).list();
        let registry = Given::new("KOBSIDIAN_OBSIDIAN_CONFIG", self.obsidian_config.as_ref()).text();
        Ok(VaultConfig {
            default: self.default_vault(environment)?,
            named,
            discovery: on("KOBSIDIAN_VAULT_DISCOVERY", &self.vault_discovery)?,
            registry_file: located("KOBSIDIAN_OBSIDIAN_CONFIG", registry, environment)?,
            allow: list("KOBSIDIAN_VAULT_ALLOW", &self.vault_allow)?,
            deny: list("KOBSIDIAN_VAULT_DENY", &self.vault_deny)?.unwrap_or_default(),
            ad_hoc: on("VAULT_AD_HOC", &self.vault_ad_hoc)?,
            home: environment.home(),
            xdg_config: environment.folder("XDG_CONFIG_HOME"),
            warnings,
        })
    }

    fn default_vault(&self, environment: &Environment) -> Result<Option<HostPath>, ConfigError> {
        let flag = Given::new(DEFAULT_VAULT, self.vault.as_ref()).text();
        located(DEFAULT_VAULT, flag.or_else(|| environment.get(DEFAULT_VAULT)), environment)
    }

    /// The named vaults: a flag wins over a variable of the same name.
    fn named(&self, environment: &Environment) -> Result<Named, ConfigError> {
        let mut named = Named::default();
        for pair in &self.named_vault {
            if let Some((name, path)) = name_and_path(pair)? {
                named.add(&format!("--named-vault {name}"), name, environment.absolute(path));
            }
        }
        let flags = named.vaults.clone();
        for (name, path) in environment.beginning(NAMED_PREFIX).filter(|(name, _)| is_name(name)) {
            if !flags.iter().any(|(flag, _)| *flag == name.to_lowercase()) {
                named.add(&format!("{NAMED_PREFIX}{name}"), name, environment.absolute(path));
            }
        }
        Ok(named)
    }
}

/// A path of a file or folder outside vaults, relative ones taken against the start directory.
fn located(
    variable: &str,
    path: Option<&str>,
    environment: &Environment,
) -> Result<Option<HostPath>, ConfigError> {
    let Some(path) = path else { return Ok(None) };
    let found = environment.resolved(path);
    found.map(Some).ok_or_else(|| ConfigError::of(variable, format!("`{path}` cannot be made absolute")))
}

/// The parts of a `--named-vault`; none when its path is unset.
fn name_and_path(pair: &str) -> Result<Option<(&str, &str)>, ConfigError> {
    let wrong = || {
        ConfigError::of(
            NAMED_VAULT,
            format!("must be NAME=PATH, NAME of letters, digits and `_` and not `PATH`; it is `{pair}`"),
        )
    };
    let (name, path) = pair.split_once('=').filter(|(name, _)| is_name(name)).ok_or_else(wrong)?;
    Ok(super::value::given(path).map(|path| (name, path)))
}

fn is_name(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    letters && !name.is_empty() && name != "PATH"
}

/// The named vaults so far, and what was wrong with single ones.
#[derive(Default)]
struct Named {
    vaults: Vec<(String, HostPath)>,
    warnings: Vec<(String, String)>,
}

impl Named {
    fn add(&mut self, given_by: &str, name: &str, path: Option<HostPath>) {
        let name = name.to_lowercase();
        let Some(path) = path else {
            return self.warn(given_by, "is dropped: its path must be absolute");
        };
        if self.vaults.iter().any(|(known, _)| *known == name) {
            return self.warn(given_by, "is dropped: another one differs from it only in case");
        }
        self.vaults.push((name, path));
    }

    fn warn(&mut self, given_by: &str, message: &str) {
        self.warnings.push((given_by.to_owned(), message.to_owned()));
    }
}
