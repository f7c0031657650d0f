//! What a test needs of the machine: without it the test says so and returns.

use std::{fmt::Display, io::Write, path::Path};

/// Returns from a test that needs what this machine does not have, with a line on stderr.
///
/// With `VAULTWRIGHT_TEST_REQUIRE=all` that is a failure. `need!(root, loop_device, tool "strace")`.
macro_rules! need {
    ($($thing:ident $($name:literal)?),+ $(,)?) => {
        $(if !$crate::need::has($crate::need::test_name!(), stringify!($thing), concat!($($name)?)) {
            return;
        })+
    };
}

/// The path of the function it stands in, without the crate.
macro_rules! test_name {
    () => {{
        const fn here() {}
        $crate::need::trimmed(std::any::type_name_of_val(&here))
    }};
}

pub(crate) use {need, test_name};

pub(crate) fn trimmed(here: &'static str) -> &'static str {
    let name = here.strip_suffix("::here").unwrap_or(here);
    name.split_once("::").map_or(name, |(_, name)| name)
}

/// All that can be required is required.
pub(crate) fn all_required() -> bool {
    std::env::var("VAULTWRIGHT_TEST_REQUIRE").is_ok_and(|value| value == "all")
}

/// The machine has it. What is missing is said, and fails the test where all is required.
pub(crate) fn has(test: &str, thing: &str, name: &str) -> bool {
    let is_there = is_there(thing, name);
    if !is_there {
        skipped(test, &format_args!("{thing} {name}"));
        // No clean machine has real vaults; such tests are run by hand.
        assert!(!all_required() || thing == "real_vaults", "{test} needs {thing} {name}");
    }
    is_there
}

fn is_there(thing: &str, name: &str) -> bool {
    match thing {
        "root" => rustix::process::geteuid().is_root(),
        "loop_device" => Path::new("/dev/loop-control").exists() && is_tool("losetup"),
        "fuse" => Path::new("/dev/fuse").exists(),
        "tool" => is_tool(name),
        "real_vaults" => std::env::var_os("VAULTWRIGHT_REAL_VAULTS").is_some(),
        other => panic!("no test knows how to look for {other}"),
    }
}

/// A program on the search path, or where the administrator's are.
pub(crate) fn is_tool(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').chain(["/usr/sbin", "/sbin"]).any(|dir| Path::new(dir).join(name).is_file())
}

/// The line alone: for a file system whose mount the kernel refuses.
pub(crate) fn skipped(test: &str, need: &impl Display) {
    say(&format!("SKIP {test}: {need}"));
}

/// A line on stderr that the harness does not keep back.
pub(crate) fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
