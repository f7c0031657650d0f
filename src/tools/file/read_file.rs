//! `read_file`: bytes, a window of text, an image, or the hash alone.

use schemars::JsonSchema;
use serde::Deserialize;

use super::on_vault;
use crate::{
    ops::{
        read_file::{Ask, Encoding},
        read_report::{Kind, ReadReport, Unit},
        report::HashOmitted,
    },
    tools::{Access, Block, Cx, Halt, Hints, Render, VaultTool},
};

/// The tool.
pub(super) struct ReadFile;

/// How the bytes are to be given.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    #[default]
    Auto,
    Text,
    Base64,
}

/// Arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// File relative to the vault, e.g. "Outputs/report.pdf". Names that start with a dot are refused.
    path: String,
    /// auto (default): image, text or base64 by content; text: UTF-8 or an error; base64: raw bytes.
    #[serde(default)]
    encoding: Form,
    /// Where the window begins: characters of text, bytes of base64. Default 0. To page, send `nextOffset`.
    #[serde(default)]
    offset: u64,
    /// Longest window. Text: at most the server's response limit. Base64: use multiples of 3.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// true: only the header with the hash of the whole file; costs no content. Default false.
    #[serde(default)]
    hash_only: bool,
    /// Absolute vault folder for this call; overrides the selected and the default vault.
    vault_path: Option<String>,
}

impl VaultTool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read File";
    const DESCRIPTION: &'static str = "Read any file of the vault: text, image, PDF or other bytes, with its sha256 \
        hash. The hash covers the whole file's raw bytes and is given when the window reaches the end; send it as \
        `expected_hash` to replace exactly these bytes. `hash_only` costs no content. Page with `offset` and \
        `nextOffset`. For notes prefer obsidian_get_note where it is listed. Dot-paths are refused.";
    const ACCESS: Access = Access::Read;
    const LONG_ANSWERS: bool = true;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Input = Input;
    type Output = ReadReport;

    async fn run(cx: &Cx, input: Input) -> Result<ReadReport, Halt> {
        let ask = Ask {
            path: input.path,
            encoding: match input.encoding {
                Form::Auto => Encoding::Auto,
                Form::Text => Encoding::Text,
                Form::Base64 => Encoding::Base64,
            },
            offset: input.offset,
            limit: input.limit,
            hash_only: input.hash_only,
        };
        ask.check()?;
        Ok(ReadReport::of(on_vault(cx, input.vault_path, move |vault, _| ask.run(vault)).await?))
    }
}

/// The lines above the payload. Every value is of the server's own making, or a JSON string: no byte of the file
/// and no file name can pass for a line of it.
fn header(report: &ReadReport) -> String {
    let mut lines = vec![format!("path: {}", json_line(&report.path))];
    let encoding = match report.kind {
        Kind::Text => "text",
        Kind::Base64 => "base64",
        Kind::Image => "image",
        Kind::Hash => "hash",
    };
    lines.push(format!("encoding: {encoding}"));
    lines.push(format!("mime: {}", report.mime));
    lines.push(format!("bytes: {}", report.size_in_bytes));
    lines.extend(report.hash.as_ref().map(|hash| format!("content_hash: {hash}")));
    if report.hash_omitted == Some(HashOmitted::OverCap) {
        lines.push("content_hash_omitted: over_cap".into());
    }
    lines.push(format!("modified: {}", report.modified));
    lines.extend(window_line(report));
    lines.extend(report.next_offset.map(|next| {
        format!("next: offset={next} (cut: content_hash comes with the page that reaches the end)")
    }));
    lines.extend(report.requested_path.as_ref().map(|path| format!("requested_path: {}", json_line(path))));
    lines.extend(report.notice.as_ref().map(|notice| format!("notice: {}", json_line(notice))));
    lines.join("\n")
}

fn window_line(report: &ReadReport) -> Option<String> {
    let (offset, returned, total) = (report.offset?, report.returned?, report.total?);
    let unit = if report.unit? == Unit::Chars { "chars" } else { "bytes" };
    Some(format!("window: {offset}-{} of {total} {unit}", offset + returned))
}

impl Render for ReadReport {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Text(header(self))];
        blocks.extend(self.content.clone().map(Block::Text));
        blocks.extend(self.image.clone().map(|data| Block::Image { data, mime: self.mime }));
        blocks
    }
}

/// A JSON string on one line, whatever line breaks a name holds: JSON leaves U+0085, U+2028 and U+2029 as they are.
fn json_line(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pass_for_a_header_line() {
        let line = json_line("a\u{2028}content_hash: sha256:00\u{85}\n\"x");
        assert_eq!(line.lines().count(), 1);
        assert!(!line.contains(['\u{2028}', '\u{85}']));
    }
}
