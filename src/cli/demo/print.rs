//! The session on paper, the same in every run.

use std::{fmt::Write, path::Path, time::Duration};

use jiff::Timestamp;
use serde_json::Value;

use super::player::Step;

/// The most lines of an answer, and of letters in one.
const LINES: usize = 12;
const LETTERS: usize = 100;
/// What stands for the folder, whose name is new each time.
const PLACE: &str = "/tmp/demo";
/// How a hash starts, and how much of it is shown.
const HASH: &str = "sha256:";
const DIGITS: usize = 9;
/// The longest text that is shown in a call.
const ARGUMENT: usize = 60;

/// Every step; the folder's own name and every time are masked.
pub(super) fn session(steps: &[Step], place: &Path) -> String {
    let place = place.display().to_string();
    let mut shown = String::from("A session of an agent with a vault, in a temporary folder.\n\n");
    for step in steps {
        // Writing to a string cannot fail.
        writeln!(shown, "{}", one(step, &place)).ok();
    }
    shown
}

/// The last line.
pub(super) fn summary(steps: &[Step], took: Duration) -> String {
    let well = steps.iter().filter(|step| step.ok).count();
    format!("{} steps, {well} as expected, {} ms", steps.len(), took.as_millis())
}

fn one(step: &Step, place: &str) -> String {
    let mut shown =
        format!("{:>2}. {}\n    > {} {}\n", step.number, step.wants, step.tool, call(&step.arguments));
    for line in cut(&step.answer.replace(place, PLACE)) {
        writeln!(shown, "{}", format!("      {line}").trim_end()).ok();
    }
    for (holds, claim) in &step.proofs {
        writeln!(shown, "    {} {claim}", if *holds { '✓' } else { '✗' }).ok();
    }
    shown
}

/// The arguments as JSON, long texts cut.
fn call(arguments: &Value) -> String {
    let mut arguments = arguments.clone();
    for value in arguments.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        if let Some(text) = value.as_str() {
            *value = shortened(&without_hashes(text), ARGUMENT).into();
        }
    }
    arguments.to_string()
}

fn cut(answer: &str) -> Vec<String> {
    let lines: Vec<_> =
        answer.lines().map(|line| shortened(&without_hashes(&masked(line)), LETTERS)).collect();
    let more = lines.len().saturating_sub(LINES);
    let told = (more > 0).then(|| format!("… {more} more lines"));
    lines.into_iter().take(LINES).chain(told).collect()
}

fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters - 1).chain(['…']).collect()
}

/// The text with each hash cut to what tells it from the others.
fn without_hashes(text: &str) -> String {
    let mut parts = text.split(HASH);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (hash, rest) = part.split_at(digits);
        write!(shown, "{HASH}{}{rest}", shortened(hash, DIGITS)).ok();
    }
    shown
}

/// The line with every time of day taken out; the error object, which says the line before it once more, too.
fn masked(line: &str) -> String {
    if line.starts_with("{\"code\":") {
        return "{…} the same as one line of JSON".to_owned();
    }
    let words = line.split(' ').map(|word| {
        let is_time = word.trim_matches(['"', ',', '.']).parse::<Timestamp>().is_ok();
        if is_time { "<time>" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_masked_and_days_are_not() {
        assert_eq!(masked("modified: 2026-11-30T09:05:07.089Z"), "modified: <time>");
        assert_eq!(masked("- 2026-11-28: the compost"), "- 2026-11-28: the compost");
    }

    #[test]
    fn a_long_answer_is_cut_to_its_first_lines() {
        let lines = cut(&"line\n".repeat(15));
        assert_eq!((lines.len(), lines[12].as_str()), (13, "… 3 more lines"));
        assert_eq!(cut(&"é".repeat(101))[0], format!("{}…", "é".repeat(99)));
    }

    #[test]
    fn hashes_are_cut() {
        let line = format!("expected sha256:{} is sha256:<hex>", "ab".repeat(32));
        assert_eq!(without_hashes(&line), "expected sha256:abababab… is sha256:<hex>");
    }

    #[test]
    fn long_arguments_are_cut() {
        let shown = call(&json!({ "path": "a.md", "content": "x".repeat(61) }));
        assert_eq!(shown, format!("{{\"path\":\"a.md\",\"content\":\"{}…\"}}", "x".repeat(59)));
    }
}
