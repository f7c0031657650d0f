//! The window between a swap and its taking back: whatever comes then, nothing is unlinked that is not ours.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

use vaultwright::fs::sys::{
    Step,
    fault::{self, Action, Armed},
};

use crate::{
    adversary::Arena,
    bench_vault::{reason, write},
};

fn put_over(path: &Path, text: &str) {
    let beside = path.with_extension("swp");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// Acts right before an exchange; those armed later act before later exchanges.
fn before_exchange(act: impl FnMut() + 'static) -> Armed {
    fault::arm(Step::Exchange, 0, Action::Run(Box::new(act)))
}

/// A vault in which another program's file comes right before our swap: what follows is the taking back.
struct Window {
    arena: Arena,
    path: PathBuf,
}

impl Window {
    fn new() -> (Self, Armed) {
        let arena = Arena::on_disk();
        arena.put("a.md", "hello\n");
        let path = arena.path("a.md");
        let first = path.clone();
        let armed = before_exchange(move || put_over(&first, "foreign"));
        (Self { arena, path }, armed)
    }

    /// The guarded replacement: its report, and how many exchanges it took.
    fn replace(&self) -> (serde_json::Value, usize) {
        let root = self.arena.open(|_| {});
        let expect = vaultwright::fs::Expect::Hash(vaultwright::text::ContentHash::of(b"hello\n"));
        let (result, steps) = fault::trace(|| write(&root, "a.md", b"A", expect));
        let report = result.unwrap_err().report();
        assert_eq!(report["data"]["reason"], "concurrent_write");
        (report, steps.iter().filter(|step| **step == Step::Exchange).count())
    }

    fn history(&self) -> Vec<String> {
        let mut texts: Vec<_> = self
            .arena
            .history()
            .into_iter()
            .map(|(kind, bytes)| format!("{kind} {}", String::from_utf8(bytes).unwrap()))
            .collect();
        texts.sort();
        texts
    }
}

#[test]
fn with_nobody_else_about_one_exchange_takes_the_swap_back() {
    let (window, _armed) = Window::new();
    let (report, exchanges) = window.replace();
    assert_eq!((report["data"]["parkedAt"].as_str(), exchanges), (None, 2));
    assert_eq!(window.arena.text("a.md").as_deref(), Some("foreign"));
    assert_eq!((window.arena.names(), window.history()), (vec!["a.md".to_owned()], vec![]));
}

#[test]
fn a_newer_version_stays_at_the_name_after_one_more_exchange() {
    let (window, _armed) = Window::new();
    let path = window.path.clone();
    let _newer = before_exchange(move || put_over(&path, "newest"));
    let (_, exchanges) = window.replace();
    assert_eq!(exchanges, 3, "the name must not go to and fro");
    assert_eq!(window.arena.text("a.md").as_deref(), Some("newest"));
    assert_eq!(window.history(), ["conflict foreign"]);
}

#[test]
fn versions_without_end_leave_the_last_at_the_name_or_parked() {
    let (window, armed) = Window::new();
    drop(armed);
    let (path, mut version) = (window.path.clone(), 0);
    let last = std::rc::Rc::new(std::cell::Cell::new(0));
    let told = std::rc::Rc::clone(&last);
    let act = move || {
        version += 1;
        told.set(version);
        put_over(&path, &format!("version {version}"));
    };
    let _always = fault::arm_always(Step::Exchange, Action::Run(Box::new(act)));
    let (_, exchanges) = window.replace();
    assert!(exchanges <= 17, "{exchanges}");
    let last = format!("version {}", last.get());
    let there = window.arena.text("a.md").unwrap();
    assert!(there == last || window.history().contains(&format!("conflict {last}")), "{there}, {last}");
    assert_eq!(window.arena.names(), ["a.md"]);
}

#[test]
fn a_name_given_up_in_the_window_stays_so_and_the_displaced_file_is_parked() {
    let (window, _armed) = Window::new();
    let path = window.path.clone();
    let _gone = before_exchange(move || std::fs::remove_file(&path).unwrap());
    let (report, _) = window.replace();
    assert_eq!(report["data"]["problem"], "deleted");
    assert!(report["data"]["parkedAt"].is_string());
    assert!(window.arena.names().is_empty());
    assert_eq!(window.history(), ["conflict foreign"]);
}

#[test]
fn our_text_that_somebody_has_open_is_parked_with_what_they_write_later() {
    let (window, _armed) = Window::new();
    let path = window.path.clone();
    let held = std::rc::Rc::new(std::cell::RefCell::new(None));
    let slot = std::rc::Rc::clone(&held);
    let _open = before_exchange(move || {
        *slot.borrow_mut() = Some(OpenOptions::new().append(true).open(&path).unwrap());
    });
    window.replace();
    held.borrow_mut().take().unwrap().write_all(b" and theirs").unwrap();
    assert_eq!(window.arena.text("a.md").as_deref(), Some("foreign"));
    assert_eq!(window.history(), ["conflict A and theirs"]);
}

#[test]
fn our_text_that_somebody_had_open_for_a_moment_is_not_parked() {
    let (window, _armed) = Window::new();
    let path = window.path.clone();
    let held = std::rc::Rc::new(std::cell::RefCell::new(None));
    let slot = std::rc::Rc::clone(&held);
    let _open = before_exchange(move || {
        *slot.borrow_mut() = Some(OpenOptions::new().append(true).open(&path).unwrap());
    });
    // The first lease is that on the old file; the second, on our text, is not to be had.
    let closed = std::rc::Rc::clone(&held);
    let _close = fault::arm(Step::Lease, 2, Action::Run(Box::new(move || drop(closed.borrow_mut().take()))));
    let (report, _) = window.replace();
    assert!(held.borrow().is_none(), "the second lease was to be tried again");
    assert_eq!(report["data"]["parkedAt"].as_str(), None);
    assert_eq!(window.arena.text("a.md").as_deref(), Some("foreign"));
    assert_eq!((window.arena.names(), window.history()), (vec!["a.md".to_owned()], vec![]));
}

#[test]
fn a_folder_put_at_the_name_is_put_back() {
    let (window, armed) = Window::new();
    drop(armed);
    let path = window.path.clone();
    let _folder = before_exchange(move || {
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("inside.md"), "kept").unwrap();
    });
    let root = window.arena.open(|_| {});
    let expect = vaultwright::fs::Expect::Hash(vaultwright::text::ContentHash::of(b"hello\n"));
    assert_eq!(reason(write(&root, "a.md", b"A", expect)), "path_is_directory");
    drop(root);
    assert_eq!(window.arena.text("a.md/inside.md").as_deref(), Some("kept"));
    assert_eq!(window.arena.names(), ["a.md/", "a.md/inside.md"]);
}
