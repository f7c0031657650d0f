//! What a replaced file keeps.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use vaultwright::fs::Warning;

use crate::bench_vault::BenchVault;

#[test]
fn mode_and_attributes_of_the_replaced_file_stay() {
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    let path = vault.path("a.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
    rustix::fs::setxattr(&path, "user.colour", b"green", rustix::fs::XattrFlags::empty()).unwrap();
    let written = vault.replace("a.md", b"2", b"1").unwrap();
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o604);
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.colour", &mut value).unwrap();
    assert_eq!(&value[..length], b"green");
}

#[test]
fn a_file_nobody_may_read_keeps_its_mode() {
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    std::fs::set_permissions(vault.path("a.md"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(vault.path("a.md")).is_ok() {
        vault.replace("a.md", b"2", b"1").unwrap();
        assert_eq!(std::fs::metadata(vault.path("a.md")).unwrap().mode() & 0o7777, 0);
    } else {
        let written = vault.write("a.md", b"2", vaultwright::fs::Expect::Any).unwrap();
        assert_eq!(written.previous, Some((None, 1)));
        assert_eq!(std::fs::metadata(vault.path("a.md")).unwrap().mode() & 0o7777, 0);
    }
}

#[test]
fn a_broken_hard_link_is_told() {
    let vault = BenchVault::new();
    vault.put("a.md", "1");
    std::fs::hard_link(vault.path("a.md"), vault.path("b.md")).unwrap();
    let written = vault.replace("a.md", b"2", b"1").unwrap();
    assert_eq!(written.warnings, [Warning::HardLinksBroken(1)]);
    assert_eq!((vault.bytes("a.md"), vault.bytes("b.md")), (b"2".to_vec(), b"1".to_vec()));
}

#[test]
fn a_name_of_255_bytes_is_edited() {
    let vault = BenchVault::new();
    let name = "語".repeat(84) + ".md";
    vault.put(&name, "1");
    vault.replace(&name, b"2", b"1").unwrap();
    assert_eq!(vault.bytes(&name), b"2");
}
