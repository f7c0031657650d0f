//! Creating without clobbering.

use std::os::unix::fs::{PermissionsExt, symlink};

use vaultwright::{
    fs::{DurableReason, Expect, Guarantee},
    text::ContentHash,
};

use crate::bench_vault::{BenchVault, reason};

#[test]
fn a_created_file_holds_its_bytes_and_nothing_else_is_left() {
    let vault = BenchVault::new();
    let written = vault.create("Outputs/2026/report.pdf", b"%PDF-1.7").unwrap();
    assert_eq!(vault.bytes("Outputs/2026/report.pdf"), b"%PDF-1.7");
    assert_eq!(written.hash, ContentHash::of(b"%PDF-1.7"));
    assert_eq!(written.created_folders, ["Outputs", "Outputs/2026"]);
    assert_eq!((written.previous, written.changed), (None, true));
    assert_eq!(written.guarantee, Guarantee::Linearizable);
    assert_eq!(vault.names(), ["Outputs/", "Outputs/2026/", "Outputs/2026/report.pdf"]);
}

#[test]
fn a_taken_name_is_never_replaced_whatever_holds_it() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    vault.put("folder/x.md", "");
    symlink("nowhere", vault.path("dangling.md")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, vault.path("fifo.md"), 0o600.into()).unwrap();
    assert_eq!(reason(vault.create("a.md", b"x")), "file_exists");
    assert_eq!(reason(vault.create("folder", b"x")), "path_is_directory");
    assert_eq!(reason(vault.create("dangling.md", b"x")), "symlink_refused");
    assert_eq!(reason(vault.create("fifo.md", b"x")), "not_a_file");
    assert_eq!(vault.bytes("a.md"), b"hello\n");
    assert_eq!(vault.names(), ["a.md", "dangling.md", "fifo.md", "folder/", "folder/x.md"]);
}

#[test]
fn the_refusal_of_a_taken_name_tells_the_hash_there() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let report = vault.create("a.md", b"x").unwrap_err().report();
    assert_eq!(report["data"]["currentHash"], ContentHash::of(b"hello\n").to_string());
    assert_eq!(report["data"]["existingPath"], "a.md");
    assert_eq!(report["data"]["sizeInBytes"], 6);
}

#[test]
fn a_name_that_differs_in_case_alone_is_in_the_way() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    vault.put("Sub/y.md", "");
    let report = vault.create("A.md", b"x").unwrap_err().report();
    assert_eq!(report["data"]["reason"], "case_variant_exists");
    assert_eq!(report["data"]["existingPath"], "a.md");
    let report = vault.create("sub/x.md", b"x").unwrap_err().report();
    assert_eq!(report["data"]["existingPath"], "Sub");
    assert_eq!(
        reason(vault.write("A.md", b"x", Expect::Hash(ContentHash::of(b"hello\n")))),
        "case_variant_exists"
    );
    assert_eq!(vault.names(), ["Sub/", "Sub/y.md", "a.md"]);
}

#[test]
fn case_variants_are_made_where_the_operator_wants_them() {
    let vault = BenchVault::with(|config| config.case_variants = true);
    vault.put("a.md", "hello\n");
    vault.create("A.md", b"x").unwrap();
    assert_eq!(vault.names(), ["A.md", "a.md"]);
}

#[test]
fn an_accent_spelled_either_way_is_the_same_name() {
    let vault = BenchVault::new();
    vault.put("cafe\u{301}.md", "hello\n");
    let report = vault.create("café.md", b"x").unwrap_err().report();
    assert_eq!(report["data"]["reason"], "file_exists");
    assert_eq!(report["data"]["existingPath"], "cafe\u{301}.md");
}

#[test]
fn new_names_are_made_in_nfc() {
    let vault = BenchVault::new();
    let written = vault.create("cafe\u{301}/e\u{301}.md", b"x").unwrap();
    assert_eq!(written.path.as_str(), "café/é.md");
    assert_eq!(vault.names(), ["café/", "café/é.md"]);
}

#[test]
fn a_refused_create_leaves_none_of_the_folders_it_made() {
    let vault = BenchVault::with(|config| {
        config.max_tier = (2, 1);
        config.named_staging = false;
    });
    assert_eq!(reason(vault.create("p/q/r/x.md", b"x")), "staging_unsupported");
    assert!(vault.names().is_empty());
}

#[test]
fn over_the_cap_nothing_is_written() {
    let vault = BenchVault::with(|config| config.max_write_bytes = 3);
    assert_eq!(reason(vault.create("p/x.md", b"1234")), "too_large");
    assert!(vault.names().is_empty());
}

#[test]
fn the_mode_is_that_of_any_new_file() {
    let vault = BenchVault::new();
    vault.create("a.md", b"x").unwrap();
    std::fs::write(vault.path("b.md"), "x").unwrap();
    let mode = |name: &str| std::fs::metadata(vault.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("a.md"), mode("b.md"));
}

#[test]
fn each_lower_tier_creates_without_clobbering_too() {
    for tier in [2, 3, 4] {
        let vault = BenchVault::with(|config| {
            config.max_tier = (tier, 1);
            config.named_staging = true;
        });
        let written = vault.create("f/a.md", b"one").unwrap();
        let expected = if tier == 4 { Guarantee::BestEffort } else { Guarantee::Linearizable };
        assert_eq!(written.guarantee, expected, "T{tier}");
        assert_eq!(reason(vault.create("f/a.md", b"two")), "file_exists", "T{tier}");
        assert_eq!(vault.bytes("f/a.md"), b"one");
        drop(vault.root);
    }
}

#[test]
fn durability_none_says_so() {
    let vault = BenchVault::with(|config| config.durable = false);
    let written = vault.create("a.md", b"x").unwrap();
    assert_eq!(written.durable, Some(Err(DurableReason::Level)));
}

#[test]
fn a_new_file_of_many_steps_arrives_whole() {
    let vault = BenchVault::new();
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| u8::try_from(n % 253).unwrap()).collect();
    let written = vault.create("big.bin", &bytes).unwrap();
    assert_eq!(written.hash, ContentHash::of(&bytes));
    assert!(vault.bytes("big.bin") == bytes);
}
