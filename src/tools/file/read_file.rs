//! `read_file`: bytes, a window of text, an image, or the hash alone.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{on_vault, spelling_notice};
use crate::{
    ops::{
        read_file::{Answer, Ask, Body, Encoding, Window},
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

/// What of the file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Text,
    Base64,
    Image,
    Hash,
}

/// What a window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unit {
    Chars,
    Bytes,
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Output {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Kind>,
    mime: &'static str,
    size_in_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash_omitted: Option<HashOmitted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    modified: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip)]
    image: Option<String>,
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
    type Output = Output;

    async fn run(cx: &Cx, input: Input) -> Result<Output, Halt> {
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
        Ok(Output::of(on_vault(cx, input.vault_path, move |vault| ask.run(vault)).await?))
    }
}

impl Output {
    /// The wire form of a read.
    pub fn of(answer: Answer) -> Self {
        let (kind, unit, window, content, image) = match answer.body {
            Body::Hash => (Kind::Hash, None, None, None, None),
            Body::Image(data, _) => (Kind::Image, None, None, None, Some(data)),
            Body::Text(text, window) => (Kind::Text, Some(Unit::Chars), Some(window), Some(text), None),
            Body::Base64(data, window) => (Kind::Base64, Some(Unit::Bytes), Some(window), Some(data), None),
        };
        let cut = window.filter(Window::is_cut);
        Self {
            notice: spelling_notice(answer.requested.as_ref(), &answer.path),
            path: answer.path,
            requested_path: answer.requested,
            kind,
            encoding: unit.map(|_| kind),
            mime: answer.mime,
            size_in_bytes: answer.size,
            hash: answer.hash.map(|hash| hash.to_string()),
            hash_omitted: answer.hash_omitted,
            offset: window.map(|window| window.offset),
            returned: window.map(|window| window.returned),
            total: window.map(|window| window.total),
            unit,
            truncated: cut.is_some(),
            next_offset: cut.map(|window| window.end()),
            modified: rfc3339(answer.modified),
            content,
            image,
        }
    }

    /// The lines above the payload. Every value is of the server's own making, or a JSON string: no byte of the file
    /// and no file name can pass for a line of it.
    fn header(&self) -> String {
        let mut lines = vec![format!("path: {}", json_line(&self.path))];
        let encoding = match self.kind {
            Kind::Text => "text",
            Kind::Base64 => "base64",
            Kind::Image => "image",
            Kind::Hash => "hash",
        };
        lines.push(format!("encoding: {encoding}"));
        lines.push(format!("mime: {}", self.mime));
        lines.push(format!("bytes: {}", self.size_in_bytes));
        lines.extend(self.hash.as_ref().map(|hash| format!("content_hash: {hash}")));
        if self.hash_omitted == Some(HashOmitted::OverCap) {
            lines.push("content_hash_omitted: over_cap".into());
        }
        lines.push(format!("modified: {}", self.modified));
        lines.extend(self.window_line());
        lines.extend(self.next_offset.map(|next| {
            format!("next: offset={next} (the hash comes with the page that reaches the end: cut)")
        }));
        lines.extend(self.requested_path.as_ref().map(|path| format!("requested_path: {}", json_line(path))));
        lines.extend(self.notice.as_ref().map(|notice| format!("notice: {}", json_line(notice))));
        lines.join("\n")
    }

    fn window_line(&self) -> Option<String> {
        let (offset, returned, total) = (self.offset?, self.returned?, self.total?);
        let unit = if self.unit? == Unit::Chars { "chars" } else { "bytes" };
        Some(format!("window: {offset}-{} of {total} {unit} ({returned} returned)", offset + returned))
    }
}

impl Render for Output {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Text(self.header())];
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

/// Seconds and nanoseconds since the epoch as RFC 3339 in UTC, to the millisecond.
fn rfc3339((seconds, nanos): (i64, u32)) -> String {
    let millis = seconds.saturating_mul(1000).saturating_add(i64::from(nanos / 1_000_000));
    Timestamp::from_millisecond(millis).map_or_else(|_| "unknown".into(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_to_the_millisecond() {
        assert_eq!(rfc3339((1_796_029_507, 89_999_999)), "2026-11-30T09:05:07.089Z");
        assert_eq!(rfc3339((0, 0)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_name_cannot_pass_for_a_header_line() {
        let line = json_line("a\u{2028}content_hash: sha256:00\u{85}\n\"x");
        assert_eq!(line.lines().count(), 1);
        assert!(!line.contains(['\u{2028}', '\u{85}']));
    }
}
