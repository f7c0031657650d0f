//! Each kernel error at each step: the right reason, the vault as it was, no handle lost.

use rustix::io::Errno;
use vaultwright::fs::{
    DurableReason, Warning,
    sys::{
        Step,
        fault::{self, Action},
    },
};

use crate::bench_vault::{BenchVault, open_handles, reason};

/// Steps that may fail without ending the call: what comes after the commit, and what is only tried.
const NOT_FATAL: &[Step] = &[
    Step::SyncFolder,
    Step::Allocate,
    Step::Attribute,
    Step::Owner,
    Step::Mode,
    Step::ReadLink,
    Step::Lease,
    Step::Unlink,
    Step::RemoveFolder,
];

#[derive(Clone, Copy, Debug)]
enum Act {
    Create,
    CreateDeep,
    Replace,
    Append,
}

impl Act {
    fn run(self, vault: &BenchVault) -> Result<vaultwright::fs::Written, vaultwright::error::Error> {
        match self {
            Self::Create => vault.create("new.md", b"new"),
            Self::CreateDeep => vault.create("p/q/new.md", b"new"),
            Self::Replace => vault.replace("a.md", b"new", b"old"),
            Self::Append => vault.append("a.md", b"er"),
        }
    }
}

fn vault() -> BenchVault {
    let vault = BenchVault::new();
    vault.put("a.md", "old");
    vault
}

#[test]
fn every_error_at_every_step_leaves_the_old_bytes_or_the_new_and_nothing_else() {
    for act in [Act::Create, Act::CreateDeep, Act::Replace, Act::Append] {
        let (_, steps) = fault::trace(|| act.run(&vault()).unwrap());
        for errno in [Errno::NOSPC, Errno::IO, Errno::ACCESS, Errno::NOMEM] {
            for at in 0..steps.len() {
                check(act, &steps, at, errno);
            }
        }
    }
}

fn check(act: Act, steps: &[Step], at: usize, errno: Errno) {
    let vault = vault();
    let step = steps[at];
    let nth = steps[..at].iter().filter(|seen| **seen == step).count();
    let context = format!("{act:?} {step:?} #{nth} {errno:?}");
    let armed = fault::arm(step, nth, Action::Fail(errno));
    let result = act.run(&vault);
    drop(armed);
    if let Err(error) = &result {
        assert!(!NOT_FATAL.contains(&step) || step == Step::Unlink, "{context}: {error}");
        assert!(error.to_string().contains("Nothing was written"), "{context}: {error}");
    }
    let wrote = result.as_ref().is_ok_and(|written| written.changed);
    let expected: &[&str] = match (act, wrote) {
        (Act::Create, true) => &["a.md", "new.md"],
        (Act::CreateDeep, true) => &["a.md", "p/", "p/q/", "p/q/new.md"],
        _ => &["a.md"],
    };
    let visible: Vec<_> = vault.names().into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(visible, expected, "{context}: {result:?}");
    let old: &[u8] = match (act, wrote) {
        (Act::Replace, true) => b"new",
        (Act::Append, true) => b"older",
        _ => b"old",
    };
    assert_eq!(vault.bytes("a.md"), old, "{context}: {result:?}");
}

#[test]
fn a_signal_is_not_an_error() {
    // `retry` sits below the hooks: an interrupted call is repeated, so the hook stands for one that is not.
    let vault = vault();
    let _armed = fault::arm(Step::Write, 0, Action::Fail(Errno::INTR));
    assert_eq!(reason(vault.create("new.md", b"new")), "io_error");
    assert_eq!(vault.names(), ["a.md"]);
}

#[test]
fn a_failing_last_flush_is_a_success_that_is_not_durable() {
    let vault = vault();
    let _armed = fault::arm_always(Step::SyncFolder, Action::Fail(Errno::IO));
    for written in [vault.create("new.md", b"new").unwrap(), vault.replace("a.md", b"new", b"old").unwrap()] {
        assert_eq!(written.durable, Some(Err(DurableReason::SyncFailed)));
        assert!(written.warnings.contains(&Warning::NotDurable));
    }
}

#[test]
fn a_failing_flush_before_publication_is_tried_once_more_in_a_new_file() {
    let vault = vault();
    let once = fault::arm(Step::SyncFile, 0, Action::Fail(Errno::IO));
    vault.create("new.md", b"new").unwrap();
    drop(once);
    let _always = fault::arm_always(Step::SyncFile, Action::Fail(Errno::IO));
    assert_eq!(reason(vault.create("newer.md", b"new")), "io_error");
    assert!(!vault.path("newer.md").exists());
}

#[test]
fn no_handle_is_lost_by_any_operation_or_failure() {
    let vault = vault();
    vault.replace("a.md", b"old", b"old").unwrap();
    let before = open_handles();
    for round in 0..5 {
        vault.create(&format!("{round}.md"), b"x").unwrap();
        vault.create("a.md", b"x").unwrap_err();
        vault.replace("a.md", b"x", b"stale").unwrap_err();
        vault.replace("a.md", b"old", b"old").unwrap();
        vault.append("a.md", b"").unwrap();
        vault.create("a.md/b.md", b"x").unwrap_err();
    }
    assert!(open_handles() <= before + 4, "{before} -> {}", open_handles());
}
