//! Links, escapes, and folders that move.

use std::{
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

use vaultwright::{
    fs::{
        Expect, Lookup,
        sys::{
            Step,
            fault::{self, Action},
        },
    },
    path::VaultPath,
};

use crate::bench_vault::{BenchVault, reason};

/// Both ways of resolving a path give the same answers.
fn both(check: impl Fn(&BenchVault)) {
    let native = BenchVault::new();
    check(&native);
    let mut walking = BenchVault::new();
    walking.root.walk_always();
    check(&walking);
}

#[test]
fn links_that_leave_the_vault_are_refused_and_nothing_outside_changes() {
    both(|vault| {
        std::fs::create_dir(vault.outside("decoy")).unwrap();
        symlink("/etc", vault.path("out")).unwrap();
        symlink("../decoy", vault.path("up")).unwrap();
        symlink("/proc/self/root", vault.path("magic")).unwrap();
        symlink("loop", vault.path("loop")).unwrap();
        symlink("chain2", vault.path("chain1")).unwrap();
        symlink("up", vault.path("chain2")).unwrap();
        for folder in ["out", "up", "magic", "loop", "chain1"] {
            let result = vault.create(&format!("{folder}/x.md"), b"x");
            assert_eq!(reason(result), "symlink_escapes", "{folder}");
        }
        assert_eq!(std::fs::read_dir(vault.outside("decoy")).unwrap().count(), 0);
    });
}

#[test]
fn folder_links_that_stay_inside_work() {
    both(|vault| {
        vault.put("Notes/deep/a.md", "");
        symlink("Notes", vault.path("relative")).unwrap();
        symlink(vault.path("Notes"), vault.path("absolute")).unwrap();
        symlink("../../Notes/deep", vault.path("Notes/deep/back")).unwrap();
        for (name, lands) in [
            ("relative/x.md", "Notes/x.md"),
            ("absolute/y.md", "Notes/y.md"),
            ("absolute/deep/z.md", "Notes/deep/z.md"),
            ("Notes/deep/back/w.md", "Notes/deep/w.md"),
        ] {
            vault.create(name, b"x").unwrap();
            assert_eq!(vault.bytes(lands), b"x", "{name}");
        }
        let place =
            vault.root.place(&VaultPath::parse("absolute/deep/q.md").unwrap(), Lookup::Create).unwrap();
        assert_eq!(place.canonical().as_str(), "Notes/deep/q.md");
        assert_eq!(place.path().as_str(), "absolute/deep/q.md");
    });
}

#[test]
fn a_link_to_a_dot_folder_is_hidden() {
    both(|vault| {
        vault.put(".obsidian/app.json", "{}");
        symlink(".obsidian", vault.path("pub")).unwrap();
        symlink(".obsidian/app.json", vault.path("settings.json")).unwrap();
        assert_eq!(reason(vault.create("pub/x.md", b"x")), "hidden_path");
        let read = vault.root.place(&VaultPath::parse("settings.json").unwrap(), Lookup::Read);
        assert_eq!(reason(read), "hidden_path");
    });
}

#[test]
fn a_final_link_is_followed_for_reading_only_and_only_inside() {
    both(|vault| {
        vault.put("Notes/a.md", "hello\n");
        std::fs::write(vault.outside("secret"), "secret").unwrap();
        symlink("Notes/a.md", vault.path("l.md")).unwrap();
        symlink(vault.path("Notes/a.md"), vault.path("abs.md")).unwrap();
        symlink("../secret", vault.path("out.md")).unwrap();
        symlink("gone.md", vault.path("dangling.md")).unwrap();
        let read = |name: &str| {
            let place = vault.root.place(&VaultPath::parse(name).unwrap(), Lookup::Read)?;
            vault.root.open_file(&place)?.whole(u64::MAX).map(|look| look.bytes)
        };
        assert_eq!(read("l.md").unwrap(), b"hello\n");
        assert_eq!(read("abs.md").unwrap(), b"hello\n");
        assert_eq!(reason(read("out.md")), "symlink_escapes");
        assert_eq!(reason(read("dangling.md")), "file_missing");
    });
}

#[test]
fn a_file_on_the_way_is_named() {
    both(|vault| {
        vault.put("a/b", "file");
        let report = vault.create("a/b/c/d.md", b"x").unwrap_err().report();
        assert_eq!(report["data"]["reason"], "not_a_directory");
        assert_eq!(report["data"]["existingPath"], "a/b");
    });
}

#[test]
fn a_folder_link_that_leads_nowhere_is_named_as_what_is_in_the_way() {
    both(|vault| {
        symlink("gone", vault.path("link")).unwrap();
        let report = vault.create("link/x.md", b"x").unwrap_err().report();
        assert_eq!(report["data"]["reason"], "not_a_directory");
        assert_eq!(report["data"]["existingPath"], "link");
        assert_eq!(vault.names(), ["link"]);
    });
}

#[test]
fn the_target_of_a_link_is_told_on_one_line() {
    both(|vault| {
        symlink("a\nb.md", vault.path("l.md")).unwrap();
        let error = vault.write("l.md", b"x", Expect::AnyOrAbsent).unwrap_err();
        assert_eq!(error.report()["data"]["target"], "a\u{fffd}b.md");
        assert_eq!(error.to_string().lines().count(), 1);
    });
}

#[test]
fn reading_takes_a_single_case_twin_and_says_so() {
    both(|vault| {
        vault.put("Notes/Read Me.md", "hello\n");
        let place = vault.root.place(&VaultPath::parse("notes/read me.MD").unwrap(), Lookup::Read).unwrap();
        assert_eq!(place.path().as_str(), "Notes/Read Me.md");
        assert_eq!(place.requested().unwrap().as_str(), "notes/read me.MD");
        vault.put("Notes/READ me.md", "other\n");
        let several = vault.root.place(&VaultPath::parse("Notes/read me.md").unwrap(), Lookup::Read);
        assert_eq!(reason(several), "ambiguous_path");
    });
}

#[test]
fn a_folder_moved_out_before_the_publication_holds_no_new_file() {
    let vault = BenchVault::new();
    vault.put("Notes/a.md", "hello\n");
    let (from, to) = (vault.path("Notes"), vault.outside("moved"));
    let _armed =
        fault::arm(Step::LinkUnnamed, 0, Action::Run(Box::new(move || std::fs::rename(&from, &to).unwrap())));
    let error = vault.create("Notes/x.md", b"x").unwrap_err();
    assert_eq!(error.name(), "parent_moved");
    assert_eq!(error.report()["data"]["published"], false);
    let left: Vec<_> =
        std::fs::read_dir(vault.outside("moved")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["a.md"]);
}

#[test]
fn a_folder_moved_out_before_a_replacement_keeps_its_old_file() {
    let vault = BenchVault::new();
    vault.put("Notes/a.md", "hello\n");
    let (from, to) = (vault.path("Notes"), vault.outside("moved"));
    let _armed =
        fault::arm(Step::Exchange, 0, Action::Run(Box::new(move || std::fs::rename(&from, &to).unwrap())));
    assert_eq!(reason(vault.replace("Notes/a.md", b"A", b"hello\n")), "parent_moved");
    assert_eq!(std::fs::read(vault.outside("moved").join("a.md")).unwrap(), b"hello\n");
}

#[test]
fn a_folder_removed_and_made_again_is_found_again() {
    let vault = BenchVault::new();
    std::fs::create_dir(vault.path("Notes")).unwrap();
    let folder = vault.path("Notes");
    let _armed = fault::arm(
        Step::StageUnnamed,
        0,
        Action::Run(Box::new(move || {
            std::fs::remove_dir(&folder).unwrap();
            std::fs::create_dir(&folder).unwrap();
        })),
    );
    vault.create("Notes/x.md", b"x").unwrap();
    assert_eq!(vault.bytes("Notes/x.md"), b"x");
}

#[test]
fn a_folder_swapped_for_a_link_between_look_and_publication_is_not_followed() {
    let vault = BenchVault::new();
    std::fs::create_dir(vault.path("Notes")).unwrap();
    std::fs::create_dir(vault.outside("decoy")).unwrap();
    let (folder, aside, decoy) = (vault.path("Notes"), vault.path("aside"), vault.outside("decoy"));
    let decoy_too = decoy.clone();
    let _armed = fault::arm(
        Step::StageUnnamed,
        0,
        Action::Run(Box::new(move || {
            std::fs::rename(&folder, &aside).unwrap();
            symlink(&decoy, &folder).unwrap();
        })),
    );
    assert_eq!(reason(vault.write("Notes/x.md", b"x", Expect::AnyOrAbsent)), "parent_moved");
    assert_eq!(std::fs::read_dir(decoy_too).unwrap().count(), 0);
    assert_eq!(vault.names(), ["Notes", "aside/"]);
}

/// How many files are written while the folder on their way is swapped for a link and back.
const SWAPS: usize = 3_000;

/// Writes through a folder that another thread keeps swapping for a link to a decoy; answers how many files ended in
/// the decoy.
fn files_in_decoy(vault: &BenchVault, write: impl Fn(&BenchVault, usize)) -> usize {
    let (folder, aside, decoy) = (vault.path("Notes"), vault.outside("aside"), vault.outside("decoy"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&decoy).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::fs::rename(&folder, &aside).unwrap();
                if symlink(&decoy, &folder).is_ok() {
                    std::thread::yield_now();
                    std::fs::remove_file(&folder).unwrap();
                }
                // A write that found no folder has made one.
                while std::fs::rename(&aside, &folder).is_err() {
                    std::fs::remove_dir_all(&folder).ok();
                }
            }
        });
        (0..SWAPS).for_each(|n| write(vault, n));
        done.store(true, Ordering::Relaxed);
    });
    std::fs::read_dir(decoy).unwrap().count()
}

#[test]
fn a_folder_that_is_swapped_for_a_link_again_and_again_never_leads_to_the_decoy() {
    let unflushed = || BenchVault::with(|config| config.durable = false);
    let ours = |vault: &BenchVault, n: usize| drop(vault.create(&format!("Notes/{n}.md"), b"x"));
    assert_eq!(files_in_decoy(&unflushed(), ours), 0);
    let mut walking = unflushed();
    walking.root.walk_always();
    assert_eq!(files_in_decoy(&walking, ours), 0);
    // The control: looking first and then writing by path, as is often done.
    let by_path = |vault: &BenchVault, n: usize| {
        let folder = vault.path("Notes");
        if std::fs::symlink_metadata(&folder).is_ok_and(|data| data.is_dir()) {
            std::thread::yield_now();
            std::fs::write(folder.join(format!("{n}.md")), "x").ok();
        }
    };
    let lost = (0..50).any(|_| files_in_decoy(&unflushed(), by_path) > 0);
    assert!(lost, "the control lost nothing: the race is none");
}
