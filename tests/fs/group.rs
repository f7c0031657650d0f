//! Several new files at the price of one flush.

use rustix::io::Errno;
use vaultwright::{
    error::Error,
    fs::{
        Content, DurableReason, Lookup, Place,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    path::VaultPath,
};

use crate::bench_vault::BenchVault;

fn files(vault: &BenchVault, names: &[&str]) -> Vec<(Place, Content)> {
    let place = |name: &&str| vault.root.place(&VaultPath::parse(name).unwrap(), Lookup::Create).unwrap();
    names.iter().map(|name| (place(name), Content::Bytes(name.as_bytes().to_vec()))).collect()
}

#[test]
fn each_file_is_done_or_refused_by_itself() {
    let vault = BenchVault::new();
    vault.put("taken.md", "old");
    let names = ["a.md", "taken.md", "f/b.md", "f/c.md", "a.md"];
    let answers = vault.root.create_many(files(&vault, &names));
    let reasons: Vec<_> = answers.iter().map(|one| one.as_ref().err().map(Error::name)).collect();
    let taken = || Some("file_exists".to_owned());
    assert_eq!(reasons, [None, taken(), None, None, taken()]);
    assert_eq!(vault.names(), ["a.md", "f/", "f/b.md", "f/c.md", "taken.md"]);
    assert_eq!((vault.bytes("f/b.md"), vault.bytes("taken.md")), (b"f/b.md".to_vec(), b"old".to_vec()));
    assert_eq!(answers[2].as_ref().unwrap().created_folders, ["f"]);
}

#[test]
fn the_file_system_is_flushed_once_and_each_folder_once() {
    let vault = BenchVault::new();
    let names: Vec<_> = (0..50).map(|n| format!("{n}.md")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let files = files(&vault, &names);
    let (answers, steps) = fault::trace(|| vault.root.create_many(files));
    assert!(answers.iter().all(Result::is_ok));
    let count = |step| steps.iter().filter(|seen| **seen == step).count();
    assert_eq!((count(Step::SyncAll), count(Step::SyncFolder)), (1, 1));
    // Every file's own error is asked for, before it gets its name.
    assert_eq!(count(Step::SyncFile), 50);
    let last_flush = steps.iter().rposition(|step| *step == Step::SyncFile).unwrap();
    assert!(last_flush < steps.iter().position(|step| *step == Step::LinkUnnamed).unwrap());
}

#[test]
fn a_file_whose_flush_fails_is_not_published() {
    let vault = BenchVault::new();
    let files = files(&vault, &["a.md", "b.md", "c.md", "d.md"]);
    let _armed = fault::arm(Step::SyncFile, 1, Action::Fail(Errno::IO));
    let answers = vault.root.create_many(files);
    assert_eq!(answers[1].as_ref().unwrap_err().name(), "io_error");
    assert_eq!(vault.names(), ["a.md", "c.md", "d.md"]);
}

#[test]
fn a_folder_flush_that_fails_is_told_of_every_file_in_it() {
    let vault = BenchVault::new();
    let files = files(&vault, &["a.md", "b.md"]);
    let _armed = fault::arm_always(Step::SyncFolder, Action::Fail(Errno::IO));
    for answer in vault.root.create_many(files) {
        assert_eq!(answer.unwrap().durable, Some(Err(DurableReason::SyncFailed)));
    }
}

#[test]
fn more_files_than_one_batch_arrive_in_order() {
    let vault = BenchVault::with(|config| config.durable = false);
    let names: Vec<_> = (0..300).map(|n| format!("{n}.md")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let answers = vault.root.create_many(files(&vault, &names));
    let paths: Vec<_> = answers.iter().map(|one| one.as_ref().unwrap().path.as_str().to_owned()).collect();
    assert_eq!(paths, names);
}
