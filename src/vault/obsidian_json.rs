//! One obsidian.json, judged entry by entry: a broken entry never costs its neighbours.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::fs::HostPath;

/// What one file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The vaults, in the order of the file.
    pub entries: Vec<Entry>,
    /// Entries that name no vault: id and why.
    pub dropped: Vec<(String, &'static str)>,
}

/// One vault of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: String,
    pub path: HostPath,
    pub last_opened: Option<Timestamp>,
    pub open: Option<bool>,
    /// A field that was ignored, and why.
    pub warning: Option<&'static str>,
}

/// Parses a whole file; the error says what is wrong with it as a whole.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = str::from_utf8(bytes).map_err(|_| "JSON parse failed: not UTF-8".to_owned())?;
    let file: Value = serde_json::from_str(text).map_err(|error| format!("JSON parse failed: {error}"))?;
    let file = file.as_object().ok_or("shape mismatch: the file is not an object")?;
    match file.get("vaults") {
        None => Ok(Parsed::default()),
        Some(Value::Object(vaults)) => Ok(entries(vaults)),
        Some(_) => Err("shape mismatch: `vaults` is not an object".into()),
    }
}

fn entries(vaults: &Map<String, Value>) -> Parsed {
    let mut parsed = Parsed::default();
    for (id, value) in vaults {
        match entry(id, value) {
            Ok(entry) => parsed.entries.push(entry),
            Err(why) => parsed.dropped.push((id.clone(), why)),
        }
    }
    parsed
}

fn entry(id: &str, value: &Value) -> Result<Entry, &'static str> {
    if id.is_empty() {
        return Err("the id is empty; entry dropped");
    }
    let fields = value.as_object().ok_or("the entry is not an object; entry dropped")?;
    let path = fields.get("path").and_then(Value::as_str).ok_or("`path` is not a string; entry dropped")?;
    let path = host_path(path)?;
    let (last_opened, warning) = match fields.get("ts").map(last_opened) {
        None => (None, None),
        Some(Some(time)) => (Some(time), None),
        Some(None) => (None, Some("`ts` is not a time in milliseconds; `ts` ignored")),
    };
    let open = fields.get("open").and_then(Value::as_bool);
    Ok(Entry { id: id.to_owned(), path, last_opened, open, warning })
}

fn host_path(path: &str) -> Result<HostPath, &'static str> {
    if is_windows(path) {
        return Err("`path` has the form of Windows; entry dropped");
    }
    HostPath::parse(path).ok_or("`path` is empty or relative; entry dropped")
}

fn is_windows(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(r"\\")
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, and jiff refuses such a time")]
fn last_opened(ts: &Value) -> Option<Timestamp> {
    let milliseconds = ts.as_f64().filter(|ms| *ms >= 0.0)?;
    Timestamp::from_millisecond(milliseconds.floor() as i64).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(file: &Value) -> Parsed {
        parse(file.to_string().as_bytes()).unwrap()
    }

    fn one(fields: &Value) -> Entry {
        parsed(&json!({ "vaults": { "aa": fields } })).entries.remove(0)
    }

    #[test]
    fn an_entry_of_obsidians_own_is_taken_whole() {
        let entry = one(&json!({ "path": "/v/Work/", "ts": 1_700_000_000_123_u64, "open": true, "new": 1 }));
        assert_eq!((entry.id.as_str(), entry.path.to_string().as_str()), ("aa", "/v/Work"));
        assert_eq!(entry.last_opened.unwrap().as_millisecond(), 1_700_000_000_123);
        assert_eq!((entry.open, entry.warning), (Some(true), None));
    }

    #[test]
    fn a_broken_entry_is_dropped_and_its_neighbours_are_kept() {
        let file = json!({ "vaults": {
            "1": 7, "2": {}, "3": { "path": 7 }, "4": { "path": "" }, "5": { "path": "notes" },
            "6": { "path": "C:\\notes" }, "7": { "path": "\\\\host\\share" }, "8": { "path": "~/notes" },
            "": { "path": "/v" }, "good": { "path": "/v" },
        }});
        let parsed = parsed(&file);
        assert_eq!(parsed.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(parsed.dropped.len(), 9);
        assert!(parsed.dropped.iter().any(|(id, why)| id == "6" && why.contains("Windows")));
    }

    #[test]
    fn a_time_is_any_number_from_zero_on_and_is_floored() {
        for (ts, expected) in [(json!(0), 0), (json!(1.9), 1), (json!(1e12), 1_000_000_000_000)] {
            let entry = one(&json!({ "path": "/v", "ts": ts }));
            assert_eq!(entry.last_opened.unwrap().as_millisecond(), expected);
        }
    }

    #[test]
    fn any_other_time_is_ignored_with_a_warning_and_the_entry_kept() {
        for ts in [json!(-1), json!("1"), json!(null), json!({}), json!(1e300)] {
            let entry = one(&json!({ "path": "/v", "ts": ts }));
            assert_eq!(entry.last_opened, None);
            assert!(entry.warning.is_some());
        }
    }

    #[test]
    fn an_open_that_is_no_boolean_is_ignored() {
        assert_eq!(one(&json!({ "path": "/v", "open": "yes" })).open, None);
    }

    #[test]
    fn no_vaults_is_no_fault() {
        assert_eq!(parsed(&json!({ "cli": true })), Parsed::default());
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(parse("\u{feff}{}".as_bytes()), Ok(Parsed::default()));
    }

    #[test]
    fn a_broken_file_says_how() {
        for (bytes, start) in [
            (&b"{"[..], "JSON parse failed:"),
            (b"", "JSON parse failed:"),
            (b"\xff{}", "JSON parse failed:"),
            (b"[]", "shape mismatch:"),
            (br#"{"vaults": []}"#, "shape mismatch:"),
        ] {
            assert!(parse(bytes).unwrap_err().starts_with(start), "{bytes:?}");
        }
    }
}
