//! Settings of reads and writes.

use super::{ConfigError, Environment, value::Given};
use crate::{
    fs::host::{HostPath, OpenDir},
    vault::FileConfig,
};

/// The largest size any byte limit can be set to.
const MOST_BYTES: u64 = 1 << 40;
/// The longest wait for a lock that can be set.
const MOST_LOCK_MS: u64 = 600_000;
/// The bounds of one answer.
const RESPONSE_CHARS: std::ops::RangeInclusive<usize> = 1_000..=1_000_000_000;

/// Settings of reads and writes, unvalidated.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Reads and writes")]
pub struct WriteArgs {
    /// Most bytes one write may put into a file
    #[arg(long, env, global = true, value_name = "BYTES", default_value = "26214400")]
    pub max_file_write_bytes: Option<String>,

    /// Most bytes that are decoded as text, and the most that one base64 read returns
    #[arg(long, env, global = true, value_name = "BYTES", default_value = "10485760")]
    pub max_file_read_bytes: Option<String>,

    /// Largest file that is returned as an image
    #[arg(long, env, global = true, value_name = "BYTES", default_value = "3750000")]
    pub max_image_bytes: Option<String>,

    /// Largest file that is hashed, and so the largest whose replacement can be guarded
    #[arg(long, env, global = true, value_name = "BYTES", default_value = "1073741824")]
    pub max_hash_bytes: Option<String>,

    /// Most characters of one answer; the rest is paged
    #[arg(long, env, global = true, value_name = "CHARS", default_value = "100000")]
    pub max_response_chars: Option<String>,

    /// Replacing a file needs the hash of what is replaced
    #[arg(
        long, env, global = true, value_name = "BOOL", default_value = "false",
        num_args = 0..=1, require_equals = true, default_missing_value = "true"
    )]
    pub write_precondition_required: Option<String>,

    /// Creating a file may stage it under a hidden name where the file system has no unnamed files
    #[arg(
        long, env, global = true, value_name = "BOOL", default_value = "false",
        num_args = 0..=1, require_equals = true, default_missing_value = "true"
    )]
    pub vault_allow_named_staging_fallback: Option<String>,

    /// Names that differ only in case may stand side by side, where the file system tells them apart
    #[arg(
        long, env, global = true, value_name = "BOOL", default_value = "false",
        num_args = 0..=1, require_equals = true, default_missing_value = "true"
    )]
    pub vault_allow_case_variants: Option<String>,

    /// `full` flushes each write before it is reported; `none` leaves that to the system
    #[arg(long, env, global = true, value_name = "LEVEL", default_value = "full")]
    pub vault_durability: Option<String>,

    /// Longest wait for another writer of the same file
    #[arg(long, env, global = true, value_name = "MS", default_value = "5000")]
    pub vault_lock_timeout_ms: Option<String>,

    /// Best tiers that may be used, as `T3,C3`; for tests
    #[arg(long, env, global = true, value_name = "TIERS", hide = true)]
    pub vault_max_tier: Option<String>,

    /// Folders, separated by commas, from which `write_file` may take a file by `source_path`
    #[arg(long, env, global = true, value_name = "FOLDERS")]
    pub write_file_source_paths: Option<String>,
}

impl WriteArgs {
    pub(super) fn files(&self, environment: &Environment) -> Result<FileConfig, ConfigError> {
        let unset = FileConfig::default();
        let bytes = |variable, value: &Option<String>, default, least| {
            Given::new(variable, value.as_ref()).number(default, least..=MOST_BYTES)
        };
        let boolean = |variable, value: &Option<String>| Given::new(variable, value.as_ref()).boolean(false);
        Ok(FileConfig {
            max_write_bytes: bytes(
                "MAX_FILE_WRITE_BYTES",
                &self.max_file_write_bytes,
                unset.max_write_bytes,
                1,
            )?,
            max_read_bytes: bytes("MAX_FILE_READ_BYTES", &self.max_file_read_bytes, unset.max_read_bytes, 1)?,
            max_image_bytes: bytes("MAX_IMAGE_BYTES", &self.max_image_bytes, unset.max_image_bytes, 0)?,
            max_hash_bytes: bytes("MAX_HASH_BYTES", &self.max_hash_bytes, unset.max_hash_bytes, 1)?,
            max_response_chars: Given::new("MAX_RESPONSE_CHARS", self.max_response_chars.as_ref())
                .number(unset.max_response_chars, RESPONSE_CHARS)?,
            precondition_required: boolean("WRITE_PRECONDITION_REQUIRED", &self.write_precondition_required)?,
            named_staging: boolean(
                "VAULT_ALLOW_NAMED_STAGING_FALLBACK",
                &self.vault_allow_named_staging_fallback,
            )?,
            case_variants: boolean("VAULT_ALLOW_CASE_VARIANTS", &self.vault_allow_case_variants)?,
            durable: Given::new("VAULT_DURABILITY", self.vault_durability.as_ref())
                .choice(unset.durable, &[("full", true), ("none", false)])?,
            lock_timeout_ms: Given::new("VAULT_LOCK_TIMEOUT_MS", self.vault_lock_timeout_ms.as_ref())
                .number(unset.lock_timeout_ms, 0..=MOST_LOCK_MS)?,
            max_tier: self.max_tier(unset.max_tier)?,
            source_paths: self.source_paths(environment)?,
            sweeps: unset.sweeps,
            state_dir: environment.state_dir().unwrap_or_else(HostPath::nowhere),
        })
    }

    fn max_tier(&self, default: (u8, u8)) -> Result<(u8, u8), ConfigError> {
        let given = Given::new("VAULT_MAX_TIER", self.vault_max_tier.as_ref());
        let Some(value) = given.text() else { return Ok(default) };
        tiers(value).ok_or_else(|| given.refuse("must be two tiers from T1,C1 to T4,C4"))
    }

    fn source_paths(&self, environment: &Environment) -> Result<Vec<HostPath>, ConfigError> {
        let given = Given::new("WRITE_FILE_SOURCE_PATHS", self.write_file_source_paths.as_ref());
        let items = given.list()?.unwrap_or_default();
        items.iter().map(|item| source_path(given, item, environment)).collect()
    }
}

fn source_path(given: Given, item: &str, environment: &Environment) -> Result<HostPath, ConfigError> {
    let path =
        environment.absolute(item).ok_or_else(|| given.refuse(&format!("`{item}` must be absolute")))?;
    match OpenDir::open(&path) {
        Ok(_) => Ok(path),
        Err(_) => Err(given.refuse(&format!("`{item}` must be a folder that can be read"))),
    }
}

fn tiers(value: &str) -> Option<(u8, u8)> {
    let (create, replace) = value.split_once(',')?;
    let level = |tier: &str, letter| {
        tier.trim().strip_prefix(letter)?.parse().ok().filter(|level| (1..=4).contains(level))
    };
    Some((level(create, 'T')?, level(replace, 'C')?))
}
