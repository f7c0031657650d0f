//! A read as clients get it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    read_file::{Answer, Body, Window},
    report::HashOmitted,
};

/// What of the file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum Kind {
    Text,
    Base64,
    Image,
    Hash,
}

/// What a window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum Unit {
    Chars,
    Bytes,
}

/// A read, as clients get it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the wire names say it")]
pub struct ReadReport {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Kind>,
    pub mime: &'static str,
    pub size_in_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_omitted: Option<HashOmitted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    pub modified: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip)]
    pub image: Option<String>,
}

impl ReadReport {
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
            notice: answer.requested.as_ref().map(|requested| spelling_notice(requested, &answer.path)),
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
}

/// A sentence about a name that the disk spells otherwise.
fn spelling_notice(requested: &str, path: &str) -> String {
    format!("You asked for `{requested}`; the file on disk is `{path}`.")
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
}
