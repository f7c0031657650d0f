//! `write_file`: base64 or text into any file, without clobbering by default.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::on_vault;
use crate::{
    error::{ArgumentProblem, ArgumentsError, Error},
    ops::{
        report::{Guarantee, WriteReport, sentence},
        write_file::{Ask, Input as Bytes},
    },
    serving::State,
    text::ContentHash,
    tools::{Access, Block, Cx, Halt, Hints, Object, Render, VaultTool, blocks::fenced},
};

/// The tool.
pub(super) struct WriteFile;

/// How the content is spelled.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    #[default]
    Base64,
    Text,
}

/// Arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Destination relative to the vault, e.g. "Outputs/report.pdf". Folders are made on demand.
    path: String,
    /// base64 (default), the always-safe encoding, or text: UTF-8, written verbatim.
    #[serde(default)]
    encoding: Encoding,
    /// true: replace the file that exists. Default false: refuse.
    #[serde(default)]
    overwrite: bool,
    /// With overwrite: the hash of the bytes you last read, sha256:<64 lowercase hex>; other bytes are not replaced.
    expected_hash: Option<String>,
    /// true: write nothing, tell what would change, with a diff of texts. Default false.
    #[serde(default)]
    dry_run: bool,
    /// Absolute vault folder for this call; overrides the selected and the default vault.
    vault_path: Option<String>,
    /// Instead of content: absolute path of a file on the server, in a folder the operator opened for this.
    source_path: Option<String>,
    /// The hash the source must have, sha256:<64 lowercase hex>.
    source_hash: Option<String>,
    /// The bytes. A message past the transport's bound never arrives: use the `write` command of the shell then.
    content: Option<String>,
}

impl VaultTool for WriteFile {
    const NAME: &'static str = "write_file";
    const TITLE: &'static str = "Write File";
    const DESCRIPTION: &'static str = "Write any file into the vault (PDF, image, text): atomic, never partly \
        written; refuses to replace unless `overwrite`. The hash answered is of the bytes this call \
        published. Final symlinks and dot-paths are refused. A file system without unnamed files needs \
        VAULT_ALLOW_NAMED_STAGING_FALLBACK. For notes prefer obsidian_write_note, obsidian_append_to_note, \
        obsidian_patch_note; this one writes bytes.";
    const ACCESS: Access = Access::Edit;
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
    type Input = Input;
    type Output = WriteReport;

    /// Without folders to take files from, the source arguments do not exist and `content` is required.
    fn adapt(state: &State, schema: &mut Object) {
        if !state.config.files.source_paths.is_empty() {
            return;
        }
        if let Some(properties) = schema.get_mut("properties").and_then(|value| value.as_object_mut()) {
            properties.shift_remove("source_path");
            properties.shift_remove("source_hash");
        }
        schema.insert("required".into(), json!(["path", "content"]));
    }

    async fn run(cx: &Cx, input: Input) -> Result<WriteReport, Halt> {
        let vault_path = input.vault_path.clone();
        let ask = input.ask()?;
        ask.check()?;
        Ok(on_vault(cx, vault_path, move |vault, cancel| ask.run(vault, cancel)).await?)
    }
}

impl Input {
    fn ask(self) -> Result<Ask, Error> {
        let hash =
            |field, text: Option<&String>| text.map(|text| ContentHash::parse(field, text)).transpose();
        let source_hash = || hash("source_hash", self.source_hash.as_ref());
        self.check_alternatives()?;
        let expected = hash("expected_hash", self.expected_hash.as_ref())?;
        let input = match (self.content, self.source_path, self.encoding) {
            (_, Some(path), _) => Bytes::SourcePath(path, source_hash()?),
            (content, None, Encoding::Base64) => Bytes::Base64(content.unwrap_or_default()),
            (content, None, Encoding::Text) => Bytes::Text(content.unwrap_or_default()),
        };
        Ok(Ask { path: self.path, input, overwrite: self.overwrite, expected, dry_run: self.dry_run })
    }

    /// Exactly one of `content` and `source_path`; `source_hash` goes with the latter.
    fn check_alternatives(&self) -> Result<(), Error> {
        let (problem, detail) = match (&self.content, &self.source_path, &self.source_hash) {
            (Some(_), Some(_), _) => {
                (ArgumentProblem::Conflict, "Send either `content` or `source_path`, not both.")
            }
            (None, None, _) => (ArgumentProblem::Missing, "`content` is missing."),
            (_, None, Some(_)) => (ArgumentProblem::Conflict, "`source_hash` goes with `source_path`."),
            _ => return Ok(()),
        };
        Err(ArgumentsError::invalid("content", problem, detail).into())
    }
}

fn previous_line(report: &WriteReport) -> Option<String> {
    if report.created {
        let what = if report.dry_run.is_some() {
            "would be created; the name is free"
        } else {
            "created; the name was free"
        };
        return Some(format!("{what} ({} bytes before)", report.previous_size_in_bytes));
    }
    let hash = match (&report.previous_hash, report.previous_hash_omitted) {
        (Some(hash), _) => hash.clone(),
        (None, Some(_)) => "not hashed: over_cap".into(),
        (None, None) => return None,
    };
    Some(format!("previous: {} bytes, {hash}", report.previous_size_in_bytes))
}

fn durable_line(report: &WriteReport) -> Option<String> {
    match (report.durable?, report.durable_reason) {
        (true, _) => Some("durable: it survives a power cut".into()),
        (false, Some(reason)) => Some(format!("not known to survive a power cut: {}", reason.as_str())),
        (false, None) => None,
    }
}

const fn guarantee_line(guarantee: Guarantee) -> Option<&'static str> {
    match guarantee {
        Guarantee::Linearizable => None,
        Guarantee::Detecting => {
            Some("guarantee: detecting; a writer in the instant of publication is found, not kept out")
        }
        Guarantee::BestEffort => {
            Some("guarantee: best_effort; a writer in the instant of publication can be lost")
        }
    }
}

impl Render for WriteReport {
    fn blocks(&self) -> Vec<Block> {
        let mut lines = vec![self.result.clone()];
        lines.extend(self.requested_path.as_ref().map(|path| format!("requested: {path}")));
        lines.extend(previous_line(self));
        lines.extend(durable_line(self));
        lines.extend(self.guarantee.and_then(guarantee_line).map(str::to_owned));
        if !self.created_folders.is_empty() {
            let what = if self.dry_run.is_some() { "folders to make" } else { "folders made" };
            lines.push(format!("{what}: {}", self.created_folders.join(", ")));
        }
        lines
            .extend(self.warnings.iter().map(|warning| format!("warning: {warning}. {}", sentence(warning))));
        lines.extend(self.diff.as_ref().map(|diff| fenced(diff)));
        if self.diff_truncated.is_some() {
            lines.push("The diff is longer than an answer may be and ends early.".into());
        }
        vec![Block::Text(lines.join("\n"))]
    }
}
