//! What a mutation answers.

use schemars::JsonSchema;
use serde::Serialize;

pub use crate::fs::{DurableReason, Guarantee};
use crate::{
    fs::{Warning, Written},
    text::ContentHash,
};

/// Why the hash of what was replaced is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum HashOmitted {
    OverCap,
    Cut,
}

/// The facts of a write: of one that was made, of one that changed nothing, or of a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    /// The path on disk.
    pub path: String,
    /// The spelling asked for, when the disk has another.
    pub requested: Option<String>,
    /// There was no file before.
    pub created: bool,
    /// Bytes were, or would be, published.
    pub changed: bool,
    /// Of the new bytes.
    pub hash: ContentHash,
    /// Of the old bytes; none for a creation, and over the cap.
    pub previous_hash: Option<ContentHash>,
    /// Of the old bytes; 0 for a creation.
    pub previous_size: u64,
    /// Of the new bytes.
    pub size: u64,
    /// The bytes and the name survive a power cut; none when nothing changed.
    pub durable: Option<bool>,
    /// Why not.
    pub durable_reason: Option<DurableReason>,
    /// Only when it is less than linearizable.
    pub guarantee: Option<Guarantee>,
    /// Made for this file.
    pub created_folders: Vec<String>,
    /// As the wire has them.
    pub warnings: Vec<String>,
}

impl Mutation {
    /// The facts of a publication.
    pub fn of(written: Written, requested: Option<String>) -> Self {
        let durable_reason = written.durable.and_then(Result::err);
        Self {
            path: written.path.as_str().to_owned(),
            requested,
            created: written.previous.is_none(),
            changed: written.changed,
            hash: written.hash,
            previous_hash: written.previous.and_then(|(hash, _)| hash),
            previous_size: written.previous.map_or(0, |(_, size)| size),
            size: written.size,
            durable: written.durable.map(|durable| durable.is_ok()),
            durable_reason,
            guarantee: (written.guarantee < Guarantee::Linearizable).then_some(written.guarantee),
            created_folders: written.created_folders,
            warnings: written.warnings.iter().map(|warning| wire(warning, durable_reason)).collect(),
        }
    }

    /// The previous hash is not there because the old bytes were not hashed.
    pub fn previous_hash_omitted(&self) -> Option<HashOmitted> {
        (!self.created && self.previous_hash.is_none()).then_some(HashOmitted::OverCap)
    }
}

/// `name`, or `name: facts`.
fn wire(warning: &Warning, durable_reason: Option<DurableReason>) -> String {
    match warning {
        Warning::NotDurable => {
            let reason = durable_reason.unwrap_or(DurableReason::SyncFailed);
            format!("not_durable: {}", reason.as_str())
        }
        Warning::OwnerChanged => "owner_changed".into(),
        Warning::XattrsDropped(names) => format!("xattrs_dropped: {}", names.join(", ")),
        Warning::HardLinksBroken(links) => format!("hard_links_broken: {links}"),
        Warning::NamedStagingUsed => "named_staging_used".into(),
    }
}

/// One sentence for each warning, for people.
pub fn sentence(warning: &str) -> &'static str {
    match warning.split(':').next().unwrap_or_default() {
        "not_durable" => "A flush failed after the file was published; a power cut may still cost it.",
        "owner_changed" => "Owner or group of the replaced file could not be kept.",
        "xattrs_dropped" => "These extended attributes of the replaced file could not be kept.",
        "hard_links_broken" => "The file had other names; they keep the old bytes.",
        _ => "The file was staged under a name in a dot-folder, since the file system has no unnamed files.",
    }
}
