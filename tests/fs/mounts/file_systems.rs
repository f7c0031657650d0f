//! Each file system: the tier it reaches, what is refused without leave, what is reported, what is left.

use std::{
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use rustix::fs::XattrFlags;
use vaultwright::fs::{
    DurableReason, Expect, Guarantee, Root, Warning,
    sys::{
        Step,
        fault::{self, Action},
    },
};

use super::{
    recipes::{self, Recipe, Stand, in_memory, on_loop, stand},
    tier,
};
use crate::{
    bench_vault::{config, names, open, reason, write},
    lab::wait_until,
    need::{self, need},
};

const LIN: Guarantee = Guarantee::Linearizable;
const DET: Guarantee = Guarantee::Detecting;
const BEST: Guarantee = Guarantee::BestEffort;
const DURABLE: Result<(), DurableReason> = Ok(());
const VOLATILE: Result<(), DurableReason> = Err(DurableReason::VolatileFilesystem);
const UNKNOWN: Result<(), DurableReason> = Err(DurableReason::FilesystemUnknown);

/// What a file system is expected to give.
#[derive(Clone, Copy, Debug)]
struct Expected {
    create: (u8, Guarantee),
    replace: (u8, Guarantee),
    durable: Result<(), DurableReason>,
}

const JOURNALED: Expected = Expected { create: (1, LIN), replace: (1, LIN), durable: DURABLE };
const IN_MEMORY: Expected = Expected { durable: VOLATILE, ..JOURNALED };
const UNJOURNALED: Expected = Expected { durable: UNKNOWN, ..JOURNALED };
const LIBFUSE: Expected = Expected { create: (3, DET), replace: (3, DET), durable: UNKNOWN };
const FUSE_OVERLAY: Expected = Expected { create: (2, DET), replace: (1, DET), durable: UNKNOWN };
const RCLONE: Expected = Expected { create: (4, BEST), replace: (4, BEST), durable: UNKNOWN };

macro_rules! file_systems {
    ($($test:ident: $recipe:expr, $expected:expr, [$($need:tt)+];)+) => {
        $(#[test]
        fn $test() {
            need!(root, $($need)+);
            if let Some(stand) = stand($recipe, need::test_name!()) {
                keeps_its_promises(&stand, $expected);
            }
        })+
    };
}

file_systems! {
    ext4: |at| on_loop("ext4", 24, at), JOURNALED, [loop_device, tool "mkfs.ext4"];
    ext3: |at| on_loop("ext3", 24, at), JOURNALED, [loop_device, tool "mkfs.ext3"];
    ext2: |at| on_loop("ext2", 24, at), UNJOURNALED, [loop_device, tool "mkfs.ext2"];
    xfs: |at| on_loop("xfs", 320, at), JOURNALED, [loop_device, tool "mkfs.xfs"];
    btrfs: |at| on_loop("btrfs", 128, at), JOURNALED, [loop_device, tool "mkfs.btrfs"];
    tmpfs: |at| in_memory("tmpfs", at), IN_MEMORY, [tool "mount"];
    ramfs: |at| in_memory("ramfs", at), IN_MEMORY, [tool "mount"];
    overlay: recipes::overlay, JOURNALED, [tool "mount"];
    volatile_overlay: recipes::volatile_overlay, UNJOURNALED, [tool "mount"];
    bindfs: recipes::bindfs, LIBFUSE, [fuse, tool "bindfs"];
    fuse2fs: recipes::fuse2fs, LIBFUSE, [fuse, tool "fuse2fs"];
    fuse_overlayfs: recipes::fuse_overlayfs, FUSE_OVERLAY, [fuse, tool "fuse-overlayfs"];
    rclone: recipes::rclone, RCLONE, [fuse, tool "rclone"];
}

/// A run in which the kernel refused all that matters would prove nothing.
#[test]
fn the_least_that_must_mount_does() {
    need!(root, loop_device, fuse);
    let mounts = |recipe: Recipe| stand(recipe, need::test_name!()).is_some();
    let least = mounts(|at| on_loop("ext4", 24, at)) && mounts(|at| in_memory("tmpfs", at));
    let fuse = [recipes::bindfs as Recipe, recipes::fuse2fs, recipes::fuse_overlayfs, recipes::rclone]
        .into_iter()
        .any(mounts);
    assert!((least && fuse) || !need::all_required(), "ext4, tmpfs and one FUSE file system");
}

/// A vault on the stand.
struct Vault {
    folder: PathBuf,
    state: PathBuf,
}

impl Vault {
    fn on(stand: &Stand) -> Self {
        let folder = stand.mounted.point().join("vault");
        std::fs::create_dir(&folder).unwrap();
        Self { folder, state: stand.scratch.path().join("state") }
    }

    fn open(&self, named_staging: bool) -> Root {
        let mut config = config(&self.state);
        config.named_staging = named_staging;
        open(&self.folder, config)
    }

    /// Every name, once FUSE has let go of files that were unlinked, or renamed over, while they were open.
    fn names(&self) -> Vec<String> {
        let is_named =
            |entry: walkdir::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".fuse_hidden");
        wait_until("FUSE lets go", || {
            walkdir::WalkDir::new(&self.folder).into_iter().all(|entry| entry.is_ok_and(is_named))
        });
        names(&self.folder)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.folder.join(name), bytes).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }
}

fn keeps_its_promises(stand: &Stand, expected: Expected) {
    let vault = Vault::on(stand);
    refuses_named_staging_without_leave(&vault, expected);
    creates(&vault, expected);
    clobbers_nothing(&vault, expected);
    gives_a_name_to_one_of_many(&vault, expected);
    replaces(&vault, expected);
    keeps_a_save_in_the_last_instant(&vault, expected);
    keeps_mode_and_attributes(&vault, expected);
}

fn refuses_named_staging_without_leave(vault: &Vault, expected: Expected) {
    let root = vault.open(false);
    let created = write(&root, "p/q/x.md", b"x", Expect::Absent);
    if expected.create.0 == 1 {
        assert!(created.unwrap().warnings.is_empty());
        std::fs::remove_dir_all(vault.folder.join("p")).unwrap();
    } else {
        assert_eq!(reason(created), "staging_unsupported");
    }
    assert!(vault.names().is_empty(), "{:?}", vault.names());
    let over = write(&root, "over.md", b"x", Expect::AnyOrAbsent).unwrap();
    assert_eq!(over.warnings.contains(&Warning::NamedStagingUsed), expected.create.0 > 1);
    drop(root);
    assert_eq!(vault.names(), ["over.md"]);
}

fn creates(vault: &Vault, expected: Expected) {
    let root = vault.open(true);
    // The first write learns what the mount can do.
    write(&root, "first.md", b"1", Expect::Absent).unwrap();
    let (written, tier) = tier::of_create(|| write(&root, "deep/er/new.md", b"new", Expect::Absent));
    assert_eq!((tier, written.guarantee), expected.create);
    assert_eq!(written.durable, Some(expected.durable));
    assert_eq!(written.warnings.contains(&Warning::NamedStagingUsed), tier > 1, "{:?}", written.warnings);
    assert_eq!(vault.bytes("deep/er/new.md"), b"new");
    drop(root);
    assert_eq!(vault.names(), ["deep/", "deep/er/", "deep/er/new.md", "first.md", "over.md"]);
    std::fs::remove_dir_all(vault.folder.join("deep")).unwrap();
}

fn clobbers_nothing(vault: &Vault, expected: Expected) {
    let root = vault.open(true);
    vault.put("taken.md", b"theirs");
    std::fs::create_dir(vault.folder.join("folder.md")).unwrap();
    let linked = symlink("nowhere", vault.folder.join("dangling.md")).is_ok();
    assert!(linked || expected.create.0 == 4, "only rclone has no links");
    assert_eq!(reason(write(&root, "taken.md", b"x", Expect::Absent)), "file_exists");
    assert_eq!(reason(write(&root, "folder.md", b"x", Expect::Absent)), "path_is_directory");
    if linked {
        assert_eq!(reason(write(&root, "dangling.md", b"x", Expect::Absent)), "symlink_refused");
        std::fs::remove_file(vault.folder.join("dangling.md")).unwrap();
    }
    assert_eq!(vault.bytes("taken.md"), b"theirs");
    taken_in_the_last_instant(vault, &root, expected);
    drop(root);
    assert_eq!(vault.names(), ["first.md", "folder.md/", "late.md", "over.md", "taken.md"]);
}

/// Another program takes the name right before ours would.
fn taken_in_the_last_instant(vault: &Vault, root: &Root, expected: Expected) {
    let step = [Step::LinkUnnamed, Step::RenameNew, Step::LinkName, Step::Placeholder]
        [usize::from(expected.create.0) - 1];
    let late = vault.folder.join("late.md");
    let armed = fault::arm(step, 0, Action::Run(Box::new(move || std::fs::write(&late, "theirs").unwrap())));
    assert_eq!(reason(write(root, "late.md", b"x", Expect::Absent)), "file_exists");
    drop(armed);
    assert_eq!(vault.bytes("late.md"), b"theirs");
}

fn gives_a_name_to_one_of_many(vault: &Vault, expected: Expected) {
    if expected.create.1 == BEST {
        return vault.put("one.md", b"");
    }
    let root = vault.open(true);
    let create = |thread: u8| write(&root, "one.md", &[thread], Expect::Absent);
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || create(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won: Vec<u8> = (0..8).filter(|thread| results[usize::from(*thread)].is_ok()).collect();
    assert_eq!(vault.bytes("one.md"), won, "one success, whose bytes are there");
    for lost in results.into_iter().filter(Result::is_err) {
        assert_eq!(reason(lost), "file_exists");
    }
}

fn replaces(vault: &Vault, expected: Expected) {
    let root = vault.open(false);
    vault.put("a.md", b"1");
    let tries = if expected.replace.1 == BEST { 5 } else { 1 };
    tier::of_replace(tries, || replace(&root, "a.md", b"2", b"1"));
    let (written, tier) = tier::of_replace(tries, || replace(&root, "a.md", b"3", b"2"));
    assert_eq!((tier, written.guarantee), expected.replace);
    assert_eq!(written.durable, Some(expected.durable));
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    assert_eq!(vault.bytes("a.md"), b"3");
    assert_eq!(reason(replace(&root, "a.md", b"4", b"2")), "stale_precondition");
    assert_eq!(reason(replace(&root, "none.md", b"4", b"2")), "no_incumbent");
    assert!(!vault.folder.join("none.md").exists());
    write(&root, "a.md", b"5", Expect::Any).unwrap();
    assert_eq!(vault.bytes("a.md"), b"5");
    at_rest(vault, root);
}

/// Another program saves in the last instant in which that can be found out: by a rename over the file, or in place.
fn keeps_a_save_in_the_last_instant(vault: &Vault, expected: Expected) {
    let (by_rename, in_place) = match expected.replace.0 {
        1 => (Step::Exchange, Step::Lease),
        3 => (Step::LinkName, Step::LinkName),
        _ => return,
    };
    let (temporary, path) = (vault.folder.join("saving"), vault.folder.join("a.md"));
    let same = path.clone();
    loses_to(vault, by_rename, move || {
        std::fs::write(&temporary, "theirs").unwrap();
        std::fs::rename(&temporary, &path).unwrap();
    });
    loses_to(vault, in_place, move || std::fs::write(&same, "theirs").unwrap());
}

fn loses_to(vault: &Vault, step: Step, save: impl FnMut() + 'static) {
    let root = vault.open(false);
    vault.put("a.md", b"before");
    let armed = fault::arm(step, 0, Action::Run(Box::new(save)));
    assert_eq!(reason(replace(&root, "a.md", b"ours", b"before")), "concurrent_write", "{step:?}");
    drop(armed);
    assert_eq!(vault.bytes("a.md"), b"theirs", "{step:?}");
    at_rest(vault, root);
}

fn keeps_mode_and_attributes(vault: &Vault, expected: Expected) {
    if expected.create.0 == 4 {
        return; // rclone has neither
    }
    let root = vault.open(false);
    let path = vault.folder.join("a.md");
    vault.put("a.md", b"1");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
    let tagged = rustix::fs::setxattr(&path, "user.colour", b"green", XattrFlags::empty());
    let written = replace(&root, "a.md", b"2", b"1").unwrap();
    assert!(written.warnings.is_empty(), "{:?}", written.warnings);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o604);
    if tagged.is_ok() {
        let mut colour = [0; 16];
        assert_eq!(rustix::fs::getxattr(&path, "user.colour", &mut colour), Ok(5));
        assert_eq!(&colour[..5], b"green");
    }
    at_rest(vault, root);
}

fn replace(
    root: &Root,
    name: &str,
    bytes: &[u8],
    old: &[u8],
) -> Result<vaultwright::fs::Written, vaultwright::error::Error> {
    write(root, name, bytes, Expect::Hash(vaultwright::text::ContentHash::of(old)))
}

/// Nothing of ours is left once the vault is closed.
fn at_rest(vault: &Vault, root: Root) {
    drop(root);
    assert_eq!(vault.names(), AT_REST);
}

const AT_REST: [&str; 7] = ["a.md", "first.md", "folder.md/", "late.md", "one.md", "over.md", "taken.md"];
