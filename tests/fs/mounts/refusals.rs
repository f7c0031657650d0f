//! File systems that say no, and a mount inside the vault: the reason told, and nothing left behind.

use std::{ffi::OsStr, path::Path};

use vaultwright::{
    fs::{
        Expect, Root,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    text::ContentHash,
};

use crate::{
    bench_vault::{config, names, open, reason, write},
    lab::{EXT4, Mounted, run},
    need::need,
};

/// A folder with `mnt`, `state` and whatever a test adds.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("mnt")).unwrap();
        Self(scratch)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn open(&self, vault: &Path) -> Root {
        open(vault, config(&self.path("state")))
    }

    fn ext4(&self) -> Mounted {
        EXT4.make(&self.path("image"));
        EXT4.mount_image(&self.path("image"), &self.path("mnt")).unwrap()
    }
}

fn hash(bytes: &[u8]) -> Expect {
    Expect::Hash(ContentHash::of(bytes))
}

#[test]
fn a_full_disk_is_no_space_and_leaves_the_vault_as_it_was() {
    need!(root);
    let scratch = Scratch::new();
    let mounted =
        Mounted::mount(&["-t", "tmpfs", "-o", "size=64k", "vaultwright"], &scratch.path("mnt")).unwrap();
    std::fs::write(mounted.point().join("a.md"), "old").unwrap();
    let root = scratch.open(mounted.point());
    let big = vec![7; 200_000];
    for size in [200_000, 64 * 1024] {
        assert_eq!(reason(write(&root, "p/q/big.md", &big[..size], Expect::Absent)), "no_space");
        assert_eq!(reason(write(&root, "a.md", &big[..size], hash(b"old"))), "no_space");
    }
    write(&root, "a.md", b"new", hash(b"old")).unwrap();
    drop(root);
    assert_eq!(names(mounted.point()), ["a.md"]);
    assert_eq!(std::fs::read(mounted.point().join("a.md")).unwrap(), b"new");
}

#[test]
fn a_read_only_mount_is_said_to_be_one() {
    need!(root);
    let scratch = Scratch::new();
    let vault = scratch.path("vault");
    std::fs::create_dir(&vault).unwrap();
    std::fs::write(vault.join("a.md"), "old").unwrap();
    let args = [OsStr::new("--bind"), OsStr::new("-o"), OsStr::new("ro"), vault.as_os_str()];
    let mounted = Mounted::mount(&args, &scratch.path("mnt")).unwrap();
    let root = scratch.open(mounted.point());
    assert_eq!(reason(write(&root, "b.md", b"x", Expect::Absent)), "read_only_filesystem");
    assert_eq!(reason(write(&root, "p/q/b.md", b"x", Expect::Absent)), "read_only_filesystem");
    assert_eq!(reason(write(&root, "a.md", b"x", hash(b"old"))), "read_only_filesystem");
    assert_eq!(reason(write(&root, "a.md", b"x", hash(b"other"))), "stale_precondition");
    drop(root);
    assert_eq!(names(mounted.point()), ["a.md"]);
}

/// An attribute of `chattr`, taken off again so that the folder can be removed.
struct Attribute<'a>(&'a Path, &'a str);

impl<'a> Attribute<'a> {
    fn set(path: &'a Path, letter: &'a str) -> Self {
        run("chattr", [OsStr::new(&format!("+{letter}")), path.as_os_str()]);
        Self(path, letter)
    }
}

impl Drop for Attribute<'_> {
    fn drop(&mut self) {
        run("chattr", [OsStr::new(&format!("-{}", self.1)), self.0.as_os_str()]);
    }
}

#[test]
fn an_immutable_file_may_not_be_replaced() {
    need!(root, loop_device, tool "mkfs.ext4", tool "chattr");
    let scratch = Scratch::new();
    let mounted = scratch.ext4();
    let vault = mounted.point().join("vault");
    std::fs::create_dir(&vault).unwrap();
    std::fs::write(vault.join("a.md"), "old").unwrap();
    let file = vault.join("a.md");
    let attribute = Attribute::set(&file, "i");
    let root = scratch.open(&vault);
    assert_eq!(reason(write(&root, "a.md", b"new", hash(b"old"))), "permission_denied");
    assert_eq!(reason(write(&root, "a.md", b"new", Expect::Any)), "permission_denied");
    drop((root, attribute));
    assert_eq!(names(&vault), ["a.md"]);
    assert_eq!(std::fs::read(file).unwrap(), b"old");
}

#[test]
fn a_folder_that_only_grows_takes_new_files_and_keeps_the_old() {
    need!(root, loop_device, tool "mkfs.ext4", tool "chattr");
    let scratch = Scratch::new();
    let mounted = scratch.ext4();
    let vault = mounted.point().join("vault");
    let folder = vault.join("log");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.md"), "old").unwrap();
    let attribute = Attribute::set(&folder, "a");
    let root = scratch.open(&vault);
    assert_eq!(reason(write(&root, "log/a.md", b"new", hash(b"old"))), "permission_denied");
    write(&root, "log/b.md", b"new", Expect::Absent).unwrap();
    drop((root, attribute));
    assert_eq!(names(&vault), ["log/", "log/a.md", "log/b.md"]);
    assert_eq!(std::fs::read(folder.join("a.md")).unwrap(), b"old");
}

#[test]
fn an_immutable_folder_takes_nothing() {
    need!(root, loop_device, tool "mkfs.ext4", tool "chattr");
    let scratch = Scratch::new();
    let mounted = scratch.ext4();
    let vault = mounted.point().join("vault");
    std::fs::create_dir(&vault).unwrap();
    std::fs::write(vault.join("a.md"), "old").unwrap();
    let attribute = Attribute::set(&vault, "i");
    let root = scratch.open(&vault);
    assert_eq!(reason(write(&root, "a.md", b"new", hash(b"old"))), "permission_denied");
    assert_eq!(reason(write(&root, "b.md", b"new", Expect::Absent)), "permission_denied");
    assert_eq!(reason(write(&root, "p/b.md", b"new", Expect::Absent)), "permission_denied");
    drop((root, attribute));
    assert_eq!(names(&vault), ["a.md"]);
}

/// A link or rename across a bind mount of one file system is refused by the kernel, so the folder itself is used.
#[test]
fn a_mount_inside_the_vault_stages_in_the_folder_and_cleans_up() {
    need!(root);
    let scratch = Scratch::new();
    let (vault, elsewhere) = (scratch.path("vault"), scratch.path("elsewhere"));
    std::fs::create_dir_all(vault.join("in")).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("a.md"), "old").unwrap();
    std::fs::write(vault.join("b.md"), "old").unwrap();
    let _mounted = Mounted::mount(&[OsStr::new("--bind"), elsewhere.as_os_str()], &vault.join("in")).unwrap();
    let root = scratch.open(&vault);
    let (seen, listed) = std::sync::mpsc::channel();
    let looked_at = vault.clone();
    let armed =
        fault::arm(Step::Exchange, 0, Action::Run(Box::new(move || seen.send(names(&looked_at)).unwrap())));
    write(&root, "in/a.md", b"new", hash(b"old")).unwrap();
    drop(armed);
    let during = listed.recv().unwrap();
    assert!(during.iter().any(|name| name.starts_with("in/.vw-")), "{during:?}");
    assert_eq!(names(&vault), ["b.md", "in/", "in/a.md"]);
    write(&root, "in/new.md", b"new", Expect::Absent).unwrap();
    write(&root, "b.md", b"new", hash(b"old")).unwrap();
    drop(root);
    assert_eq!(names(&vault), ["b.md", "in/", "in/a.md", "in/new.md"]);
    assert_eq!(std::fs::read(elsewhere.join("a.md")).unwrap(), b"new");
}
