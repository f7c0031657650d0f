//! `demo`: its script is a test of the whole product.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    client::{Ending, Process},
    vault::vault,
};

/// Plays the session in a temporary folder of the test's own, under settings that must not reach it.
fn demo(arguments: &[&str], temporary: &TempDir) -> Ending {
    let arguments = [&["demo"], arguments].concat();
    let environment = [
        ("TMPDIR", temporary.path().to_str().unwrap()),
        ("OBSIDIAN_READ_ONLY", "true"),
        ("OBSIDIAN_DENY_PATHS", "Projects"),
        ("OBSIDIAN_VAULT_PATH", "/nonexistent"),
        ("MCP_TRANSPORT_TYPE", "http"),
        ("MAX_FILE_WRITE_BYTES", "none"),
    ];
    Process::spawn(&arguments, &environment).close()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn every_step_is_as_expected_and_nothing_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = demo(&[], &temporary);
    assert_eq!((ending.code, &*ending.log), (Some(0), ""), "{:#?}", ending.rest);
    let last = ending.rest.last().unwrap();
    assert!(last.starts_with("17 steps, 17 as expected, ") && last.ends_with(" ms"), "{last}");
    assert_eq!(names(temporary.path()), [""; 0]);
}

#[test]
fn two_runs_print_the_same_but_for_the_time_they_took() {
    let temporary = tempfile::tempdir().unwrap();
    let [mut one, mut other] = [(); 2].map(|()| demo(&[], &temporary).rest);
    let last = [one.pop(), other.pop()].map(|line| line.unwrap().rsplit_once(", ").unwrap().0.to_owned());
    assert_eq!(last[0], last[1]);
    assert_eq!(one, other);
    let shown = one.join("\n");
    assert!(!shown.contains(temporary.path().to_str().unwrap()), "{shown}");
    assert!(one.iter().all(|line| line.chars().count() <= 240 && line.trim_end() == line), "{shown}");
}

#[test]
fn as_json_each_step_tells_what_came_of_it() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = demo(&["--json"], &temporary);
    assert_eq!(ending.code, Some(0));
    let steps: Vec<Value> = serde_json::from_str(&ending.rest[0]).unwrap();
    for (place, step) in steps.iter().enumerate() {
        let keys: Vec<_> = step.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["step", "tool", "arguments", "outcome", "expected", "ok", "ms"]);
        assert_eq!((&step["step"], &step["ok"]), (&Value::from(place + 1), &Value::from(true)), "{step}");
    }
    let outcomes: Vec<_> = steps.iter().map(|step| step["outcome"].as_str().unwrap()).collect();
    for outcome in ["env-default", "stale_precondition", "file_exists", "hidden_path", "path_traversal"] {
        assert!(outcomes.contains(&outcome), "{outcomes:?}");
    }
    assert!(outcomes.contains(&"1 created, 19 file_exists"), "{outcomes:?}");
}

#[test]
fn a_kept_vault_is_private_and_holds_nothing_of_ours() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = demo(&["--keep"], &temporary);
    assert_eq!(ending.code, Some(0));
    let kept = ending.rest.iter().find_map(|line| line.strip_prefix("kept: ")).unwrap();
    assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o700);
    let mut hidden = names(&Path::new(kept).join("everyday"));
    hidden.retain(|name| name.starts_with('.'));
    assert_eq!(hidden, [".obsidian"]);
    assert_eq!(fs::read(Path::new(kept).join("everyday/Inbox/once.md")).unwrap(), b"only once\n");
}

#[test]
fn without_a_temporary_folder_it_says_so() {
    let ending = Process::spawn(&["demo"], &[("TMPDIR", "/nonexistent")]).close();
    assert_eq!((ending.code, ending.rest.len()), (Some(10), 0));
    assert!(ending.log.contains("the temporary folder"), "{}", ending.log);
    let ending = Process::spawn(&["demo", "--json"], &[("TMPDIR", "/nonexistent")]).close();
    assert_eq!((ending.code, &*ending.log), (Some(10), ""));
    let told: Value = serde_json::from_str(&ending.rest[0]).unwrap();
    assert!(told["error"]["message"].as_str().unwrap().contains("the temporary folder"), "{told}");
}

#[test]
fn a_single_call_leaves_no_staging_folder_either() {
    let vault = vault("//- a.md\nold\n");
    let path = vault.path();
    for text in ["1", "2", "3", "4", "5"] {
        let arguments = format!(r#"{{"path":"a.md","encoding":"text","overwrite":true,"content":"{text}"}}"#);
        let call = ["call", "write_file", &arguments, "--vault", path.to_str().unwrap()];
        assert_eq!(Process::spawn(&call, &[]).close().code, Some(0));
        assert_eq!(names(&path), ["a.md"]);
    }
}
