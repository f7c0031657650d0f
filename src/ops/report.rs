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

/// What a dry run shows beside its facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Of two texts that are not too large.
    pub diff: Option<String>,
    /// The diff is longer than an answer may be, and ends early.
    pub cut: bool,
}

impl Preview {
    /// A diff of at most so many characters, cut at the end of a line.
    pub fn of_diff(diff: String, most: usize) -> Self {
        let Some((end, _)) = diff.char_indices().nth(most) else {
            return Self { diff: Some(diff), cut: false };
        };
        let end = diff[..end].rfind('\n').map_or(0, |newline| newline + 1);
        Self { diff: Some(diff[..end].to_owned()), cut: true }
    }
}

/// What came of a write of a whole file, as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the fact of the same name in `Mutation`")]
pub struct WriteReport {
    pub result: String,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_path: Option<String>,
    pub created: bool,
    pub changed: bool,
    pub hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_hash_omitted: Option<HashOmitted>,
    pub previous_size_in_bytes: u64,
    pub current_size_in_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durable_reason: Option<DurableReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    pub created_folders: Vec<String>,
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

impl WriteReport {
    /// The wire form of a write, or of a dry run.
    pub fn of(facts: Mutation, preview: Option<Preview>) -> Self {
        let dry_run = preview.is_some();
        let Preview { diff, cut } = preview.unwrap_or_default();
        Self {
            result: sentence_of(&facts, dry_run),
            previous_hash_omitted: facts.previous_hash_omitted(),
            path: facts.path,
            requested_path: facts.requested,
            created: facts.created,
            changed: facts.changed,
            hash: facts.hash.to_string(),
            previous_hash: facts.previous_hash.map(|hash| hash.to_string()),
            previous_size_in_bytes: facts.previous_size,
            current_size_in_bytes: facts.size,
            durable: facts.durable,
            durable_reason: facts.durable_reason,
            guarantee: facts.guarantee,
            created_folders: facts.created_folders,
            warnings: facts.warnings,
            diff,
            diff_truncated: cut.then_some(true),
            dry_run: dry_run.then_some(true),
        }
    }
}

fn sentence_of(facts: &Mutation, dry_run: bool) -> String {
    let (size, path, hash) = (facts.size, &facts.path, facts.hash);
    match (dry_run, facts.changed) {
        (true, true) => format!("Would write {size} bytes to {path} — content_hash: {hash}"),
        (true, false) => {
            format!("Would change nothing: {path} holds these {size} bytes — content_hash: {hash}")
        }
        (false, true) => format!("Wrote {size} bytes to {path} — content_hash: {hash}"),
        (false, false) => {
            format!("Wrote nothing: {path} already holds these {size} bytes — content_hash: {hash}")
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_diff_is_cut_at_the_end_of_a_line_and_says_so() {
        let cut = Preview::of_diff("+a\n+bé\n+c\n".into(), 8);
        assert_eq!((cut.diff.as_deref(), cut.cut), (Some("+a\n+bé\n"), true));
        let whole = Preview::of_diff("+a\n".into(), 3);
        assert_eq!((whole.diff.as_deref(), whole.cut), (Some("+a\n"), false));
    }
}
