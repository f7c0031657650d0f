//! What a test needs that not every machine has: a visible skip, or a failure where all is required.

/// Which tests may not be skipped: `all` under `.ci/run`.
const REQUIRE: &str = "VAULTWRIGHT_TEST_REQUIRE";

/// Names a folder of vaults that no clean machine has; such tests are run by hand.
const REAL_VAULTS: &str = "VAULTWRIGHT_REAL_VAULTS";

/// Ends the test here, visibly, unless the machine has what is named.
///
/// `need!(root)`, `need!(loop_device)`, `need!(real_vaults)`, `need!(tool "strace")`.
#[macro_export]
macro_rules! need {
    ($($thing:ident $($name:literal)?),+) => {$(
        if !$crate::need::has(stringify!($thing), concat!($($name)?)) {
            return;
        }
    )+};
}

/// The machine has it. A missing thing is told on standard error, and fails the test where all is required.
pub(crate) fn has(thing: &str, name: &str) -> bool {
    let is_there = is_there(thing, name);
    let is_required = thing != "real_vaults" && std::env::var(REQUIRE).is_ok_and(|value| value == "all");
    assert!(is_there || !is_required, "this test needs {thing} {name}, and {REQUIRE}=all");
    if !is_there {
        eprintln!("skipped: needs {thing} {name}");
    }
    is_there
}

fn is_there(thing: &str, name: &str) -> bool {
    match thing {
        "root" => rustix::process::geteuid().is_root(),
        "loop_device" => std::path::Path::new("/dev/loop-control").exists(),
        "real_vaults" => std::env::var_os(REAL_VAULTS).is_some(),
        "tool" => is_on_path(name),
        other => panic!("no test knows how to look for {other}"),
    }
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found() {
        need!(tool "sh");
        assert!(is_there("tool", "sh"));
        assert!(!is_there("tool", "no-such-tool"));
    }
}
