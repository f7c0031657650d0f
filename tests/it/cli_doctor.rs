//! `doctor`: its report on file systems that every machine has.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    client::{Ending, Process},
    need::{self, need},
    vault::{Vault, vault},
};

/// The rows of every report, in their order.
const CHECKS: [&str; 19] = [
    "openat2",
    "o_tmpfile",
    "linkat_form",
    "rename_noreplace",
    "rename_exchange",
    "leases",
    "case_folding",
    "normalization",
    "timestamps",
    "xattrs",
    "durability",
    "read_only",
    "free_bytes",
    "fs_type",
    "mount_id",
    "create_tier",
    "replace_tier",
    "vault_policy",
    "obsidian_config",
];

/// What cannot be known without a write.
const TRIED: [&str; 9] = [
    "o_tmpfile",
    "linkat_form",
    "rename_noreplace",
    "rename_exchange",
    "leases",
    "timestamps",
    "xattrs",
    "create_tier",
    "replace_tier",
];

fn doctor(arguments: &[&str], environment: &[(&str, &str)]) -> Ending {
    Process::spawn(&[&["doctor"], arguments].concat(), environment).close()
}

fn report(ending: &Ending) -> Value {
    let [line] = &ending.rest[..] else { panic!("one document: {ending:?}") };
    serde_json::from_str(line).unwrap()
}

/// The only vault of a report.
fn only(ending: &Ending) -> Value {
    let report = report(ending);
    assert_eq!(report["vaults"].as_array().unwrap().len(), 1);
    report["vaults"][0].clone()
}

fn value<'a>(vault: &'a Value, id: &str) -> (&'a str, &'a str) {
    let checks = vault["checks"].as_array().unwrap();
    let check =
        checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id} in {vault:#}"));
    (check["value"].as_str().unwrap(), check["status"].as_str().unwrap())
}

fn a_vault() -> Vault {
    vault("//- Note.md\nn\n//- .obsidian/app.json\n{}\n")
}

fn path(vault: &Vault) -> String {
    vault.path().to_str().unwrap().to_owned()
}

/// A vault in memory; /dev is no place that is served without being named as the default.
fn in_memory() -> TempDir {
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::write(scratch.path().join("Note.md"), "n").unwrap();
    scratch
}

fn ctime(folder: &Path) -> (i64, i64) {
    let stat = fs::metadata(folder).unwrap();
    (stat.ctime(), stat.ctime_nsec())
}

#[test]
fn the_report_has_its_shape_and_leaves_nothing() {
    let vault = a_vault();
    let before = vault.tree();
    let ending = doctor(&["--json", &path(&vault)], &[]);
    assert_eq!((ending.code, &*ending.log), (Some(0), ""));
    let whole = report(&ending);
    assert_eq!(whole.as_object().unwrap().keys().collect::<Vec<_>>(), ["version", "kernel", "vaults"]);
    assert_eq!(whole["version"], env!("CARGO_PKG_VERSION"));
    assert!(whole["kernel"].as_str().unwrap().starts_with("linux "));
    let told = only(&ending);
    assert_eq!(
        told.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["id", "name", "path", "verdict", "checks"]
    );
    assert_eq!((&told["name"], &told["path"]), (&Value::from("vault"), &Value::from(path(&vault))));
    let checks = told["checks"].as_array().unwrap();
    assert_eq!(checks.iter().map(|check| &check["id"]).collect::<Vec<_>>(), CHECKS);
    for check in checks {
        assert_eq!(
            check.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["id", "value", "status", "detail"]
        );
        assert!(["ok", "degraded", "missing", "unknown"].contains(&check["status"].as_str().unwrap()));
        assert!(
            check.as_object().unwrap().values().all(|text| !text.as_str().unwrap().is_empty()),
            "{check}"
        );
    }
    assert_eq!(vault.tree(), before);
}

#[test]
fn memory_is_degraded_for_it_is_not_durable() {
    let folder = in_memory();
    let place = folder.path().to_str().unwrap();
    let ending = doctor(&["--json", "--vault", place], &[]);
    assert_eq!(ending.code, Some(0));
    let told = only(&ending);
    assert_eq!(told["verdict"], "degraded");
    assert_eq!(value(&told, "fs_type"), ("tmpfs", "ok"));
    assert_eq!(value(&told, "durability"), ("volatile_filesystem", "degraded"));
    assert_eq!(value(&told, "create_tier"), ("T1 linearizable", "ok"));
    assert_eq!(value(&told, "replace_tier"), ("C1 linearizable", "ok"));
    assert_eq!(value(&told, "obsidian_config"), ("absent", "unknown"));
    assert_eq!(doctor(&["--strict", "--vault", place], &[]).code, Some(9));
    let shown = doctor(&[], &[("OBSIDIAN_VAULT_PATH", place)]).rest;
    assert_eq!(
        shown.last().unwrap(),
        "writes: atomic, no-clobber, linearizable, not durable (volatile_filesystem)"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn without_writing_nothing_is_touched_and_what_was_not_tried_is_unknown() {
    for folder in [tempfile::tempdir().unwrap(), in_memory()] {
        // What a sweep would take.
        fs::create_dir(folder.path().join(".vw-deadbeefdead")).unwrap();
        let before = ctime(folder.path());
        let ending = doctor(&["--json", "--no-write", "--vault", folder.path().to_str().unwrap()], &[]);
        assert_eq!(ending.code, Some(0));
        let told = only(&ending);
        for id in TRIED {
            assert_eq!(value(&told, id), ("unknown", "unknown"), "{id}");
        }
        assert_eq!(value(&told, "openat2").1, "ok");
        assert_eq!(ctime(folder.path()), before);
        assert!(folder.path().join(".vw-deadbeefdead").exists());
    }
}

#[test]
fn what_a_dead_probe_left_is_swept_when_the_vault_is_opened() {
    let vault = a_vault();
    let before = vault.tree();
    vault.put(".vw-deadbeefdead/1", b"");
    assert_eq!(doctor(&[&path(&vault)], &[]).code, Some(0));
    assert_eq!(vault.tree(), before);
}

#[test]
fn lowered_tiers_are_told_and_a_create_without_a_way_is_refused() {
    let vault = a_vault();
    let lowered = |arguments: &[&str]| {
        let place = path(&vault);
        doctor(&[&["--json", &place, "--vault-max-tier", "T3,C3"], arguments].concat(), &[])
    };
    let ending = lowered(&[]);
    assert_eq!(ending.code, Some(9));
    let told = only(&ending);
    assert_eq!(told["verdict"], "refused");
    assert_eq!(value(&told, "create_tier"), ("refused", "missing"));
    let ending = lowered(&["--vault-allow-named-staging-fallback"]);
    assert_eq!(ending.code, Some(0));
    let told = only(&ending);
    assert_eq!(told["verdict"], "degraded");
    assert_eq!(value(&told, "create_tier"), ("T3 linearizable", "degraded"));
    assert_eq!(value(&told, "replace_tier"), ("C3 detecting", "degraded"));
}

#[test]
fn under_read_only_nothing_is_written_and_nothing_is_wrong() {
    let vault = a_vault();
    let before = ctime(&vault.path());
    let ending = doctor(&["--strict", &path(&vault)], &[("OBSIDIAN_READ_ONLY", "true")]);
    assert_eq!(ending.code, Some(0));
    assert_eq!(ending.rest.last().unwrap(), "writes: off, by OBSIDIAN_READ_ONLY");
    assert_eq!(ctime(&vault.path()), before);
}

#[test]
fn vaults_are_chosen_by_folder_id_and_name_and_all_that_are_there() {
    let (one, other) = (a_vault(), a_vault());
    let (one, other) = (path(&one), path(&other));
    let known = [
        ("OBSIDIAN_VAULT_PATH", &*one),
        ("OBSIDIAN_VAULT_OTHER", &*other),
        ("OBSIDIAN_VAULT_GONE", "/nonexistent"),
        ("KOBSIDIAN_VAULT_DISCOVERY", "off"),
    ];
    let paths = |arguments: &[&str]| {
        let told = report(&doctor(&[&["--json", "--no-write"], arguments].concat(), &known));
        let vaults = told["vaults"].as_array().unwrap().iter().map(|vault| vault["path"].clone());
        vaults.map(|path| path.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&[]), [&*one]);
    assert_eq!(paths(&["other"]), [&*other]);
    assert_eq!(paths(&["env:other", &one]), [&*other, &*one]);
    assert_eq!(paths(&["--all"]), [&*one, &*other]);
}

#[test]
fn a_vault_that_is_not_there_is_not_found_nor_made() {
    for arguments in [&["/nonexistent/vault"][..], &["nobody"], &["--vault", "/nonexistent/vault"]] {
        let ending = doctor(arguments, &[]);
        assert_eq!((ending.code, ending.rest.len()), (Some(3), 0), "{arguments:?}");
        assert!(!ending.log.is_empty());
        let told = report(&doctor(&[&["--json"], arguments].concat(), &[]));
        assert!(told["error"]["data"]["reason"].is_string(), "{told}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    need!(root, tool "mount");
    let vault = a_vault();
    let Some(_mounted) = mount(&["-t", "tmpfs", "-o", "ro", "none"], &vault.path()) else { return };
    let ending = doctor(&["--json", &path(&vault)], &[]);
    assert_eq!(ending.code, Some(9));
    assert_eq!(value(&only(&ending), "read_only"), ("yes", "missing"));
}

#[test]
fn a_mount_below_the_root_has_a_row_of_its_own() {
    need!(root, tool "mount");
    let vault = a_vault();
    vault.put("My Share/", b"");
    let Some(_mounted) = mount(&["-t", "tmpfs", "none"], &vault.path().join("My Share")) else { return };
    let ending = doctor(&["--json", &path(&vault)], &[]);
    let told = only(&ending);
    assert_eq!(value(&told, "mount:My Share"), ("tmpfs, T1 linearizable, C1 linearizable", "degraded"));
    assert_eq!(fs::read_dir(vault.path().join("My Share")).unwrap().count(), 0);
}

#[test]
fn a_file_system_without_unnamed_files_refuses_new_ones_until_that_is_allowed() {
    need!(root, tool "bindfs");
    let vault = a_vault();
    let behind = vault.path().to_str().unwrap().to_owned();
    let front = tempfile::tempdir().unwrap();
    let Some(_mounted) = mounted("bindfs", &[&behind], front.path()) else { return };
    let place = front.path().to_str().unwrap();
    let before = vault.tree();
    let ending = doctor(&["--json", place], &[]);
    assert_eq!(ending.code, Some(9));
    let told = only(&ending);
    assert_eq!(told["verdict"], "refused");
    assert_eq!(value(&told, "o_tmpfile"), ("no(EOPNOTSUPP)", "missing"));
    assert_eq!(value(&told, "linkat_form"), ("none", "missing"));
    assert_eq!(value(&told, "rename_exchange"), ("no(EINVAL)", "degraded"));
    assert_eq!(value(&told, "leases"), ("local_only", "degraded"));
    assert_eq!(value(&told, "durability"), ("filesystem_unknown", "unknown"));
    let ending = doctor(&["--json", place, "--vault-allow-named-staging-fallback"], &[]);
    assert_eq!(ending.code, Some(0));
    let told = only(&ending);
    assert_eq!(value(&told, "o_tmpfile"), ("no(EOPNOTSUPP)", "degraded"));
    assert_eq!(value(&told, "create_tier"), ("T3 detecting", "degraded"));
    assert_eq!(value(&told, "replace_tier"), ("C3 detecting", "degraded"));
    assert_eq!(vault.tree(), before);
}

/// A mount that ends with this value.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        std::process::Command::new("umount").arg(&self.0).status().unwrap();
    }
}

fn mount(arguments: &[&str], at: &Path) -> Option<Mounted> {
    mounted("mount", arguments, at)
}

/// None where the kernel does not let root mount that.
fn mounted(program: &str, arguments: &[&str], at: &Path) -> Option<Mounted> {
    let status = std::process::Command::new(program).args(arguments).arg(at).status().unwrap();
    if !status.success() {
        need::skipped("cli_doctor::mount", &format_args!("the kernel refuses to mount {arguments:?}"));
        return None;
    }
    Some(Mounted(at.to_owned()))
}
