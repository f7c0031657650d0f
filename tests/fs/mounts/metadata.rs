//! What a new file takes from its folder, and what a replaced one keeps, where that needs privilege.

use std::{
    ffi::OsStr,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
};

use crate::{bench_vault::BenchVault, lab::run, need::need};

const GROUP: u32 = 4242;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn acl(path: &Path) -> String {
    run("getfacl", [OsStr::new("--omit-header"), OsStr::new("--absolute-names"), path.as_os_str()])
}

fn set_acl(words: &[&str], path: &Path) {
    run("setfacl", words.iter().map(OsStr::new).chain([path.as_os_str()]));
}

#[test]
fn a_new_file_in_a_set_gid_folder_is_of_the_folders_group() {
    need!(root);
    let vault = BenchVault::new();
    let folder = vault.path("shared");
    std::fs::create_dir(&folder).unwrap();
    chown(&folder, None, Some(GROUP)).unwrap();
    set_mode(&folder, 0o2775);
    vault.create("shared/sub/a.md", b"1").unwrap();
    assert_eq!(std::fs::metadata(vault.path("shared/sub/a.md")).unwrap().gid(), GROUP);
    assert_eq!(std::fs::metadata(vault.path("shared/sub")).unwrap().mode() & 0o2000, 0o2000);
    vault.replace("shared/sub/a.md", b"2", b"1").unwrap();
    assert_eq!(std::fs::metadata(vault.path("shared/sub/a.md")).unwrap().gid(), GROUP);
}

#[test]
fn owner_mode_and_set_id_bits_of_the_replaced_file_stay() {
    need!(root);
    for mode in [0o604, 0o4755, 0o2750, 0o000] {
        let vault = BenchVault::new();
        vault.put("a.md", "1");
        chown(vault.path("a.md"), Some(65_534), Some(GROUP)).unwrap();
        set_mode(&vault.path("a.md"), mode);
        let written = vault.replace("a.md", b"2", b"1").unwrap();
        let now = std::fs::metadata(vault.path("a.md")).unwrap();
        assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (65_534, GROUP, mode), "{mode:o}");
        assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    }
}

#[test]
fn a_new_file_has_the_acl_that_its_folder_hands_down() {
    need!(root, tool "setfacl");
    let vault = BenchVault::new();
    std::fs::create_dir(vault.path("shared")).unwrap();
    set_acl(&["-d", "-m", "u:65534:rw"], &vault.path("shared"));
    vault.create("shared/ours.md", b"1").unwrap();
    std::fs::write(vault.path("shared/theirs.md"), "1").unwrap();
    let ours = acl(&vault.path("shared/ours.md"));
    assert!(ours.contains("user:nobody:rw") || ours.contains("user:65534:rw"), "{ours}");
    assert_eq!(ours, acl(&vault.path("shared/theirs.md")));
}

#[test]
fn acl_and_attributes_of_the_replaced_file_stay() {
    need!(root, tool "setfacl");
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    let path = vault.path("a.md");
    set_mode(&path, 0o640);
    set_acl(&["-m", "u:65534:rw,g:4242:r"], &path);
    for (name, value) in [("user.colour", "green"), ("user.empty", ""), ("trusted.note", "kept")] {
        rustix::fs::setxattr(&path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
    }
    let before = acl(&path);
    let written = vault.replace("a.md", b"2", b"1").unwrap();
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    assert_eq!(acl(&path), before);
    for (name, value) in [("user.colour", "green"), ("user.empty", ""), ("trusted.note", "kept")] {
        let mut kept = [0; 16];
        let length = rustix::fs::getxattr(&path, name, &mut kept).unwrap();
        assert_eq!(&kept[..length], value.as_bytes(), "{name}");
    }
}

/// The staging folder stands at the vault's root: what that folder hands down is not for files replaced elsewhere.
#[test]
fn a_replaced_file_without_acl_gets_none_from_the_vaults_root() {
    need!(root, tool "setfacl");
    let vault = BenchVault::new();
    std::fs::create_dir(vault.path("plain")).unwrap();
    vault.put("plain/a.md", "1");
    set_mode(&vault.path("plain/a.md"), 0o640);
    set_acl(&["-d", "-m", "u:65534:rwx"], &vault.path(""));
    let before = acl(&vault.path("plain/a.md"));
    vault.replace("plain/a.md", b"2", b"1").unwrap();
    assert_eq!(acl(&vault.path("plain/a.md")), before);
    assert_eq!(std::fs::metadata(vault.path("plain/a.md")).unwrap().mode() & 0o7777, 0o640);
}
