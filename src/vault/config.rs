//! What the operator said about vaults and files, validated; `config` makes it.

use std::time::Duration;

use crate::fs::{HostPath, WriteConfig};

/// Where vaults come from and which are admitted.
#[derive(Debug, Clone, Default)]
pub struct VaultConfig {
    /// `OBSIDIAN_VAULT_PATH`, made absolute.
    pub default: Option<HostPath>,
    /// `OBSIDIAN_VAULT_<NAME>`, names in lower case and each once, in byte order of the variables.
    pub named: Vec<(String, HostPath)>,
    /// `KOBSIDIAN_VAULT_DISCOVERY`.
    pub discovery: bool,
    /// `KOBSIDIAN_OBSIDIAN_CONFIG`.
    pub registry_file: Option<HostPath>,
    /// `KOBSIDIAN_VAULT_ALLOW`; absent when unset.
    pub allow: Option<Vec<String>>,
    /// `KOBSIDIAN_VAULT_DENY`.
    pub deny: Vec<String>,
    /// `VAULT_AD_HOC`.
    pub ad_hoc: bool,
    /// `HOME`, when it is absolute.
    pub home: Option<HostPath>,
    /// `XDG_CONFIG_HOME`, when it is absolute.
    pub xdg_config: Option<HostPath>,
    /// What was wrong with single entries at start: where, message.
    pub warnings: Vec<(String, String)>,
}

/// Bounds and guarantees of reads and writes.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the operator's switches")]
pub struct FileConfig {
    /// `MAX_FILE_WRITE_BYTES`.
    pub max_write_bytes: u64,
    /// `MAX_FILE_READ_BYTES`.
    pub max_read_bytes: u64,
    /// `MAX_IMAGE_BYTES`.
    pub max_image_bytes: u64,
    /// `MAX_HASH_BYTES`.
    pub max_hash_bytes: u64,
    /// `MAX_RESPONSE_CHARS`.
    pub max_response_chars: usize,
    /// `WRITE_PRECONDITION_REQUIRED`.
    pub precondition_required: bool,
    /// `VAULT_ALLOW_NAMED_STAGING_FALLBACK`.
    pub named_staging: bool,
    /// `VAULT_ALLOW_CASE_VARIANTS`.
    pub case_variants: bool,
    /// `VAULT_DURABILITY` is `full`.
    pub durable: bool,
    /// `VAULT_LOCK_TIMEOUT_MS`.
    pub lock_timeout_ms: u64,
    /// `VAULT_MAX_TIER`: the best create and replace tiers that may be used, for tests.
    pub max_tier: (u8, u8),
    /// `WRITE_FILE_SOURCE_PATHS`: absolute directories that existed at start; empty when unset.
    pub source_paths: Vec<HostPath>,
    /// What dead processes left in a vault is swept when it is opened: not under `OBSIDIAN_READ_ONLY`.
    pub sweeps: bool,
    /// `$XDG_STATE_HOME/vaultwright`: what is ours and outlives a process.
    pub state_dir: HostPath,
}

impl Default for FileConfig {
    fn default() -> Self {
        Self {
            max_write_bytes: 26_214_400,
            max_read_bytes: 10_485_760,
            max_image_bytes: 3_750_000,
            max_hash_bytes: 1_073_741_824,
            max_response_chars: 100_000,
            precondition_required: false,
            named_staging: false,
            case_variants: false,
            durable: true,
            lock_timeout_ms: 5_000,
            max_tier: (1, 1),
            source_paths: Vec::new(),
            sweeps: true,
            state_dir: HostPath::nowhere(),
        }
    }
}

impl FileConfig {
    /// The part the write path needs.
    pub fn write_config(&self) -> WriteConfig {
        WriteConfig {
            max_write_bytes: self.max_write_bytes,
            max_hash_bytes: self.max_hash_bytes,
            named_staging: self.named_staging,
            case_variants: self.case_variants,
            durable: self.durable,
            lock_timeout: Duration::from_millis(self.lock_timeout_ms),
            max_tier: self.max_tier,
            sweeps: self.sweeps,
            state_dir: self.state_dir.clone(),
        }
    }
}
