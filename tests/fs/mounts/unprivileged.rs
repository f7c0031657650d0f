//! As a user without any capability, on files of others.

use std::{
    os::unix::fs::{MetadataExt, chown},
    path::Path,
};

use rustix::io::Errno;
use vaultwright::{
    fs::{
        Expect, Root, Written,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    text::ContentHash,
};

use crate::{
    bench_vault::{config, names, open, reason, write},
    lab::{command, run},
    need::need,
    worker::{self, Worker, tell},
};

const NOBODY: u32 = 65_534;

#[test]
fn a_user_without_capabilities_creates_and_replaces() {
    need!(root, tool "setpriv");
    let scratch = tempfile::tempdir().unwrap();
    let vault = scratch.path().join("vault");
    std::fs::create_dir(&vault).unwrap();
    for name in ["theirs.md", "secret.md", "own.md"] {
        std::fs::write(vault.join(name), "old").unwrap();
    }
    std::fs::set_permissions(vault.join("secret.md"), mode(0o600)).unwrap();
    for path in [scratch.path(), &vault, &vault.join("own.md")] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    assert_eq!(report_of_nobody(scratch.path(), "as nobody"), EXPECTED);
    assert_eq!(report_of_nobody(scratch.path(), "as nobody, linking by /proc"), EXPECTED_BY_PROC);
    assert_eq!(
        names(&vault),
        ["deep/", "deep/a.md", "deep/b.md", "new.md", "own.md", "secret.md", "theirs.md"]
    );
    let theirs = std::fs::metadata(vault.join("theirs.md")).unwrap();
    assert_eq!((theirs.uid(), theirs.mode() & 0o7777), (NOBODY, 0o644));
    assert_eq!(std::fs::read(vault.join("theirs.md")).unwrap(), b"new");
    assert_eq!(std::fs::read(vault.join("secret.md")).unwrap(), b"newer");
}

fn mode(mode: u32) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

/// Each line that the worker tells; it runs from a copy, since the build folder may be closed to others. `cp` makes it:
/// a handle of ours that can write to a program could be held by another child when it is started.
fn report_of_nobody(scratch: &Path, task: &str) -> Vec<String> {
    let program = scratch.join("program");
    run("cp", [&std::env::current_exe().unwrap(), &program]);
    std::fs::set_permissions(&program, mode(0o755)).unwrap();
    let mut setpriv = command("setpriv");
    setpriv.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
    ]);
    setpriv.arg(&program).current_dir(scratch);
    let mut worker = Worker::of(worker::task(setpriv, task, scratch));
    std::iter::from_fn(|| worker.hear()).collect()
}

const EXPECTED: [&str; 6] = [
    "user 65534",
    "new: 1 link, Linearizable []",
    "own: Linearizable []",
    "theirs: Detecting [OwnerChanged]",
    "secret: precondition_unavailable",
    "secret without a hash: Detecting [OwnerChanged]",
];

const EXPECTED_BY_PROC: [&str; 3] =
    ["user 65534", "first: 2 links, Linearizable []", "from then on: 1 link, Linearizable []"];

fn open_vault(scratch: &Path) -> Root {
    tell(&format!("user {}", rustix::process::geteuid().as_raw()));
    open(&scratch.join("vault"), config(&scratch.join("state")))
}

fn describe(written: &Written) -> String {
    format!("{:?} {:?}", written.guarantee, written.warnings)
}

/// Creates a file and tells how many kernel calls it took to give it its name.
fn create(root: &Root, name: &str) -> String {
    let (written, steps) = fault::trace(|| write(root, name, b"new", Expect::Absent).unwrap());
    let links = steps.iter().filter(|step| **step == Step::LinkUnnamed).count();
    format!("{links} link{}, {}", if links == 1 { "" } else { "s" }, describe(&written))
}

/// A worker's part.
pub fn as_nobody(scratch: &Path) {
    let root = open_vault(scratch);
    tell(&format!("new: {}", create(&root, "new.md")));
    let hash = Expect::Hash(ContentHash::of(b"old"));
    for name in ["own", "theirs"] {
        let written = write(&root, &format!("{name}.md"), b"new", hash).unwrap();
        tell(&format!("{name}: {}", describe(&written)));
    }
    tell(&format!("secret: {}", reason(write(&root, "secret.md", b"new", hash))));
    let written = write(&root, "secret.md", b"newer", Expect::Any).unwrap();
    tell(&format!("secret without a hash: {}", describe(&written)));
}

/// A worker's part, on a kernel before 6.10: it answers `ENOENT` to a link by empty path without the capability.
pub fn as_nobody_by_proc(scratch: &Path) {
    let root = open_vault(scratch);
    let armed = fault::arm(Step::LinkUnnamed, 0, Action::Fail(Errno::NOENT));
    tell(&format!("first: {}", create(&root, "deep/a.md")));
    drop(armed);
    tell(&format!("from then on: {}", create(&root, "deep/b.md")));
}
