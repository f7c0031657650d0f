//! Read, compute, replace.

use std::{os::unix::fs::MetadataExt, path::Path};

use vaultwright::{
    error::{Error, PathError},
    fs::{
        Lookup,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    path::VaultPath,
    text::ContentHash,
};

use crate::bench_vault::{BenchVault, reason};

/// Saves as most programs do: a new file, renamed over. An edit in place would wait for our own lease.
fn save_over(path: &Path, text: &str) {
    std::fs::write(path.with_extension("tmp"), text).unwrap();
    std::fs::rename(path.with_extension("tmp"), path).unwrap();
}

#[test]
fn appends_of_many_threads_all_land_once() {
    let vault = BenchVault::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let vault = &vault;
            scope.spawn(move || {
                for n in 0..20 {
                    vault.append("log.md", format!("{thread}-{n}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let text = String::from_utf8(vault.bytes("log.md")).unwrap();
    let lines: std::collections::BTreeSet<_> = text.lines().collect();
    assert_eq!((text.lines().count(), lines.len()), (160, 160));
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let before = std::fs::metadata(vault.path("a.md")).unwrap();
    let written = vault.append("a.md", b"").unwrap();
    let after = std::fs::metadata(vault.path("a.md")).unwrap();
    assert!(!written.changed && written.durable.is_none());
    assert_eq!(
        (before.ino(), before.mtime_nsec(), before.ctime_nsec()),
        (after.ino(), after.mtime_nsec(), after.ctime_nsec())
    );
}

#[test]
fn an_edit_that_lost_a_race_is_computed_again_from_the_winners_bytes() {
    let vault = BenchVault::new();
    vault.put("a.md", "one\n");
    let path = vault.path("a.md");
    let _armed =
        fault::arm(Step::Exchange, 0, Action::Run(Box::new(move || save_over(&path, "one\nforeign\n"))));
    vault.append("a.md", b"ours\n").unwrap();
    assert_eq!(vault.bytes("a.md"), b"one\nforeign\nours\n");
}

#[test]
fn with_the_callers_hash_there_is_one_try() {
    let vault = BenchVault::new();
    vault.put("a.md", "one\n");
    let path = vault.path("a.md");
    let _armed = fault::arm(Step::Exchange, 0, Action::Run(Box::new(move || save_over(&path, "foreign\n"))));
    let edit = vault.root.update(
        &VaultPath::parse("a.md").unwrap(),
        Lookup::Edit,
        Some(ContentHash::of(b"one\n")),
        &|_| Ok(()),
        &mut |_| Ok(b"ours\n".to_vec()),
    );
    let error = edit.unwrap_err();
    assert_eq!(error.name(), "concurrent_write");
    assert!(!error.reason().retryable());
    assert_eq!(vault.bytes("a.md"), b"foreign\n");
}

#[test]
fn an_edit_of_a_missing_file_names_its_case_twin() {
    let vault = BenchVault::new();
    vault.put("a.md", "one\n");
    let path = VaultPath::parse("A.md").unwrap();
    let edit = vault.root.update(&path, Lookup::Edit, None, &|_| Ok(()), &mut |_| Ok(Vec::new()));
    match edit.unwrap_err() {
        Error::Path(PathError::FileMissing { suggestions, .. }) => assert_eq!(suggestions, ["a.md"]),
        other => panic!("{other}"),
    }
}

#[test]
fn a_refusal_of_the_computation_ends_the_call() {
    let vault = BenchVault::new();
    vault.put("a.md", "one\n");
    let refuse = || PathError::HiddenPath { path: "x".into() };
    let path = VaultPath::parse("a.md").unwrap();
    let edit = vault.root.update(&path, Lookup::Edit, None, &|_| Ok(()), &mut |_| Err(refuse().into()));
    assert_eq!(reason(edit), "hidden_path");
    assert_eq!(vault.bytes("a.md"), b"one\n");
}
