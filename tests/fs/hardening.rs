//! Trouble at moments that the ladder of tiers does not see coming: each left something behind, or said the wrong
//! thing, before.

use std::{io::Write, os::unix::fs::symlink};

use rustix::io::Errno;
use vaultwright::{
    fs::{
        Content, Guarantee, Lookup,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    path::VaultPath,
};

use crate::bench_vault::{BenchVault, names, open, reason};

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

#[test]
fn a_file_that_grows_while_it_is_read_is_not_followed() {
    let vault = BenchVault::new();
    vault.put("a.log", "line\n");
    let file = vault.root.open_file(&vault.root.place(&path("a.log"), Lookup::Read).unwrap()).unwrap();
    let mut writer = std::fs::File::options().append(true).open(vault.path("a.log")).unwrap();
    let _grows = fault::arm_always(
        Step::Read,
        Action::Run(Box::new(move || writer.write_all(&vec![b'x'; 1 << 20]).unwrap())),
    );
    let (look, steps) = fault::trace(|| file.whole(u64::MAX));
    assert_eq!(reason(look), "file_changing");
    // Each look reads what was there when it began, and one byte that shows the growth.
    assert!(steps.iter().filter(|step| **step == Step::Read).count() <= 12, "{steps:?}");
}

#[test]
fn a_swap_that_cannot_go_back_says_that_the_new_bytes_stand() {
    let vault = BenchVault::new();
    vault.put("a.md", "hello\n");
    let theirs = vault.path("a.md");
    let _foreign = fault::arm(
        Step::Exchange,
        0,
        Action::Run(Box::new(move || {
            std::fs::write(theirs.with_extension("tmp"), "foreign").unwrap();
            std::fs::rename(theirs.with_extension("tmp"), &theirs).unwrap();
        })),
    );
    let _refused = fault::arm(Step::Exchange, 0, Action::Fail(Errno::ROFS));
    let error = vault.replace("a.md", b"A", b"hello\n").unwrap_err();
    let report = error.report();
    assert_eq!((error.name().as_str(), &report["data"]["published"]), ("concurrent_write", &true.into()));
    assert!(!error.to_string().contains("Nothing was written"), "{error}");
    assert!(!error.reason().retryable());
    assert_eq!(vault.bytes("a.md"), b"A");
    let id = report["data"]["parkedAt"].as_str().unwrap();
    let history = vault.state().join(vault.root.vault_id()).join("history");
    assert_eq!(std::fs::read(history.join(id).join("content")).unwrap(), b"foreign");
}

#[test]
fn folders_that_only_look_like_ours_are_not_swept() {
    let vault = BenchVault::new();
    vault.put(".vw-themes/a.css", "css");
    vault.put(".vw-ABCDEFGHIJKL/b", "b");
    vault.put(".vaultwright/notes/c", "c");
    symlink("a.css", vault.path(".vw-themes/link")).unwrap();
    let before = vault.names();
    drop(open(&vault.path(""), vault.root.config().clone()));
    assert_eq!(vault.names(), before);
}

#[test]
fn a_leftover_that_is_no_file_does_not_keep_the_others_from_being_recovered() {
    let vault = BenchVault::new();
    let dead = ".vaultwright/abcdefghijkl";
    vault.put(&format!("{dead}/1/inside"), "folder");
    symlink("somewhere", vault.path(&format!("{dead}/2"))).unwrap();
    vault.put(&format!("{dead}/3"), "bytes");
    drop(open(&vault.path(""), vault.root.config().clone()));
    let left: Vec<_> = names(&vault.path(dead));
    assert_eq!(left, ["1/", "1/inside", "2"]);
    let history = vault.state().join(vault.root.vault_id()).join("history");
    let entry = std::fs::read_dir(history).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read(entry.join("content")).unwrap(), b"bytes");
}

#[test]
fn an_entry_of_the_history_is_whole_or_absent_and_the_leftover_waits() {
    let vault = BenchVault::new();
    let leftover = ".vaultwright/abcdefghijkl/1";
    vault.put(leftover, "bytes");
    let history = vault.state().join(vault.root.vault_id()).join("history");
    let failing = fault::arm(Step::Write, 0, Action::Fail(Errno::NOSPC));
    drop(open(&vault.path(""), vault.root.config().clone()));
    drop(failing);
    assert_eq!(vault.bytes(leftover), b"bytes");
    assert_eq!(std::fs::read_dir(&history).unwrap().count(), 0);
    drop(open(&vault.path(""), vault.root.config().clone()));
    assert_eq!(std::fs::read_dir(&history).unwrap().count(), 1);
    // The same bytes again are not kept twice.
    vault.put(leftover, "bytes");
    drop(open(&vault.path(""), vault.root.config().clone()));
    assert_eq!(std::fs::read_dir(&history).unwrap().count(), 1);
    assert!(vault.names().is_empty());
}

#[test]
fn the_last_tier_gives_the_name_up_when_it_cannot_fill_it() {
    let vault = BenchVault::with(|config| {
        config.max_tier = (4, 4);
        config.named_staging = true;
    });
    let _refused = fault::arm(Step::RenameOver, 0, Action::Fail(Errno::IO));
    assert_eq!(reason(vault.create("new.md", b"x")), "io_error");
    assert!(!vault.path("new.md").exists());
    vault.create("new.md", b"x").unwrap();
}

#[test]
fn one_file_that_may_not_be_linked_does_not_lower_the_tier_of_the_others() {
    let vault = BenchVault::with(|config| config.max_tier = (1, 3));
    vault.put("a.md", "1");
    let once = fault::arm(Step::LinkName, 0, Action::Fail(Errno::PERM));
    assert_eq!(vault.replace("a.md", b"2", b"1").unwrap().guarantee, Guarantee::BestEffort);
    drop(once);
    assert_eq!(vault.replace("a.md", b"3", b"2").unwrap().guarantee, Guarantee::Detecting);
}

#[test]
fn a_folder_whose_name_ends_as_the_kernel_marks_removed_ones_is_a_folder() {
    let vault = BenchVault::new();
    std::fs::create_dir(vault.path("old (deleted)")).unwrap();
    symlink("old (deleted)", vault.path("link")).unwrap();
    vault.create("link/a.md", b"x").unwrap();
    assert_eq!(vault.bytes("old (deleted)/a.md"), b"x");
}

#[test]
fn a_folder_made_for_a_file_and_removed_by_another_is_made_again() {
    let vault = BenchVault::new();
    let made = vault.path("p");
    let _removed =
        fault::arm(Step::StageUnnamed, 0, Action::Run(Box::new(move || std::fs::remove_dir(&made).unwrap())));
    vault.create("p/a.md", b"x").unwrap();
    assert_eq!(vault.bytes("p/a.md"), b"x");
}

#[test]
fn a_folder_that_takes_no_name_from_outside_is_staged_in() {
    let vault = BenchVault::new();
    vault.put("p/a.md", "1");
    let _refused = fault::arm(Step::Exchange, 0, Action::Fail(Errno::XDEV));
    vault.replace("p/a.md", b"2", b"1").unwrap();
    let folder = vault.path("");
    drop(vault.root);
    assert_eq!(names(&folder), ["p/", "p/a.md"]);
}

#[test]
fn a_staging_folder_that_cannot_be_locked_or_filled_does_not_stay() {
    for (step, nth, errno) in [(Step::Lock, 0, Errno::NOLCK), (Step::Write, 0, Errno::NOSPC)] {
        let vault = BenchVault::new();
        vault.put("a.md", "1");
        let _refused = fault::arm(step, nth, Action::Fail(errno));
        vault.replace("a.md", b"2", b"1").unwrap_err();
        assert_eq!(vault.names(), ["a.md"], "{step:?}");
    }
}

#[test]
fn a_refused_file_of_a_group_does_not_take_the_folder_from_another() {
    let vault = BenchVault::new();
    let place = |name: &str| vault.root.place(&path(name), Lookup::Create).unwrap();
    let files = ["p/x.md", "p/y.md"].map(|name| (place(name), Content::Bytes(b"text".to_vec())));
    let _refused = fault::arm(Step::SyncFile, 0, Action::Fail(Errno::IO));
    let answers = vault.root.create_many(files.into());
    assert!(answers[0].is_err());
    answers[1].as_ref().unwrap();
    assert_eq!(vault.names(), ["p/", "p/y.md"]);
}
