//! Replacing, bound to what is displaced.

use std::os::unix::fs::{MetadataExt, symlink};

use vaultwright::{
    fs::{
        Expect, Guarantee,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    text::ContentHash,
};

use crate::bench_vault::{BenchVault, reason};

#[test]
fn a_guarded_replacement_takes_the_place_of_exactly_those_bytes() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let written = vault.replace("a.md", b"A", b"hello\n").unwrap();
    assert_eq!(vault.bytes("a.md"), b"A");
    assert_eq!(written.previous, Some((Some(ContentHash::of(b"hello\n")), 6)));
    assert_eq!(written.guarantee, Guarantee::Linearizable);
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    assert_eq!(reason(vault.replace("a.md", b"B", b"hello\n")), "stale_precondition");
    assert_eq!(vault.bytes("a.md"), b"A");
}

#[test]
fn a_vault_at_rest_holds_nothing_of_ours() {
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    vault.replace("a.md", b"2", b"1").unwrap();
    let folder = vault.path("");
    drop(vault.root);
    assert_eq!(crate::bench_vault::names(&folder), ["a.md"]);
}

#[test]
fn an_absent_file_has_no_incumbent_and_is_not_created() {
    let vault = BenchVault::new();
    assert_eq!(reason(vault.replace("b.md", b"B", b"hello\n")), "no_incumbent");
    assert!(vault.names().is_empty());
}

#[test]
fn an_overwrite_without_hash_replaces_or_creates() {
    let vault = BenchVault::new();
    assert_eq!(vault.write("a.md", b"1", Expect::AnyOrAbsent).unwrap().previous, None);
    let written = vault.write("a.md", b"2", Expect::AnyOrAbsent).unwrap();
    assert_eq!(written.previous, Some((Some(ContentHash::of(b"1")), 1)));
    assert_eq!(vault.bytes("a.md"), b"2");
}

#[test]
fn a_final_link_is_refused_and_its_target_named() {
    let vault = BenchVault::new();
    vault.put("Notes/a.md", "hello\n");
    symlink("Notes/a.md", vault.path("l.md")).unwrap();
    symlink("/etc/passwd", vault.path("out.md")).unwrap();
    let report = vault.write("l.md", b"x", Expect::AnyOrAbsent).unwrap_err().report();
    assert_eq!(report["data"]["reason"], "symlink_refused");
    assert_eq!(report["data"]["target"], "Notes/a.md");
    let report = vault.write("out.md", b"x", Expect::AnyOrAbsent).unwrap_err().report();
    assert_eq!(report["data"]["target"], "outside the vault");
    assert_eq!(vault.bytes("Notes/a.md"), b"hello\n");
}

#[test]
fn a_same_size_edit_with_its_time_put_back_is_found_and_kept() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let path = vault.path("a.md");
    let armed = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || {
            let time = std::fs::metadata(&path).unwrap().modified().unwrap();
            std::fs::rename(&path, path.with_extension("old")).unwrap();
            std::fs::copy(path.with_extension("old"), &path).unwrap();
            std::fs::remove_file(path.with_extension("old")).unwrap();
            std::fs::write(&path, "hullo\n").unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        })),
    );
    assert_eq!(reason(vault.replace("a.md", b"A", b"hello\n")), "concurrent_write");
    drop(armed);
    assert_eq!(vault.bytes("a.md"), b"hullo\n");
}

#[test]
fn a_file_deleted_before_the_swap_is_not_resurrected() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let path = vault.path("a.md");
    let _armed =
        fault::arm(Step::Exchange, 0, Action::Run(Box::new(move || std::fs::remove_file(&path).unwrap())));
    let report = vault.replace("a.md", b"A", b"hello\n").unwrap_err().report();
    assert_eq!(report["data"]["problem"], "deleted");
    assert!(!vault.path("a.md").exists());
}

#[test]
fn a_third_version_in_the_window_stays_and_the_displaced_one_is_parked() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let (path, newer) = (vault.path("a.md"), vault.path("newer"));
    // The first exchange meets another program's file; before the swap back a newer one comes.
    let first = path.clone();
    let _one = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || {
            std::fs::write(first.with_extension("tmp"), "foreign").unwrap();
            std::fs::rename(first.with_extension("tmp"), &first).unwrap();
        })),
    );
    let _two = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || {
            std::fs::write(&newer, "newest").unwrap();
            std::fs::rename(&newer, &path).unwrap();
        })),
    );
    let report = vault.replace("a.md", b"A", b"hello\n").unwrap_err().report();
    assert_eq!(report["data"]["reason"], "concurrent_write");
    assert_eq!(vault.bytes("a.md"), b"newest");
    let id = report["data"]["parkedAt"].as_str().expect("parked").to_owned();
    let history = vault.state().join(vault.root.vault_id()).join("history").join(id);
    assert_eq!(std::fs::read(history.join("content")).unwrap(), b"foreign");
    assert!(std::fs::read_to_string(history.join("meta.json")).unwrap().contains("\"conflict\""));
}

#[test]
fn an_edit_of_our_text_in_the_window_is_parked() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let path = vault.path("a.md");
    let first = path.clone();
    let _one = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || {
            std::fs::write(first.with_extension("tmp"), "foreign").unwrap();
            std::fs::rename(first.with_extension("tmp"), &first).unwrap();
        })),
    );
    let _two = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || std::fs::write(&path, "edited ours").unwrap())),
    );
    let report = vault.replace("a.md", b"A", b"hello\n").unwrap_err().report();
    assert_eq!(vault.bytes("a.md"), b"foreign");
    let id = report["data"]["parkedAt"].as_str().expect("parked").to_owned();
    let history = vault.state().join(vault.root.vault_id()).join("history").join(id);
    assert_eq!(std::fs::read(history.join("content")).unwrap(), b"edited ours");
}

#[test]
fn a_writer_that_never_closes_is_a_race_within_the_limit() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let held = std::fs::File::options().append(true).open(vault.path("a.md")).unwrap();
    let report = vault.replace("a.md", b"A", b"hello\n").unwrap_err().report();
    assert_eq!(report["data"]["problem"], "open_writer");
    assert_eq!(report["data"]["retryable"], true);
    drop(held);
    vault.replace("a.md", b"A", b"hello\n").unwrap();
}

#[test]
fn each_lower_tier_replaces_and_finds_a_stale_hash() {
    for (tier, expected) in [(2, Guarantee::Detecting), (3, Guarantee::Detecting), (4, Guarantee::BestEffort)]
    {
        let vault = BenchVault::with(|config| config.max_tier = (1, tier));
        vault.put("a.md", "1");
        let written = vault.replace("a.md", b"2", b"1").unwrap();
        assert_eq!((written.guarantee, vault.bytes("a.md")), (expected, b"2".to_vec()), "C{tier}");
        assert_eq!(reason(vault.replace("a.md", b"3", b"1")), "stale_precondition");
        let folder = vault.path("");
        drop(vault.root);
        assert_eq!(crate::bench_vault::names(&folder), ["a.md"], "C{tier}");
    }
}

#[test]
fn a_kept_link_puts_a_late_edit_back() {
    let vault = BenchVault::with(|config| config.max_tier = (1, 3));
    vault.put("a.md", "hello\n");
    let path = vault.path("a.md");
    let _armed = fault::arm(
        Step::RenameOver,
        0,
        Action::Run(Box::new(move || std::fs::write(&path, "late\n").unwrap())),
    );
    assert_eq!(reason(vault.replace("a.md", b"A", b"hello\n")), "concurrent_write");
    assert_eq!(vault.bytes("a.md"), b"late\n");
}

#[test]
fn the_time_differs_in_milliseconds_after_a_replacement_of_the_same_size() {
    let vault = BenchVault::new();
    vault.put("a.md", "0");
    for round in 0..50_u8 {
        let before = std::fs::metadata(vault.path("a.md")).unwrap();
        let old = vault.bytes("a.md");
        vault.replace("a.md", &[round], &old).unwrap();
        let after = std::fs::metadata(vault.path("a.md")).unwrap();
        let millis = |data: &std::fs::Metadata| (data.mtime(), data.mtime_nsec() / 1_000_000);
        assert_ne!(millis(&before), millis(&after));
    }
}

#[test]
fn a_staging_folder_removed_by_hand_is_made_again() {
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    vault.replace("a.md", b"2", b"1").unwrap();
    std::fs::remove_dir_all(vault.path(".vaultwright")).unwrap();
    vault.replace("a.md", b"3", b"2").unwrap();
    assert_eq!(vault.bytes("a.md"), b"3");
}
