//! The commands of the shell, by the built program.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;
use vaultwright::text::ContentHash;

/// A vault, a folder beside it, and the program run on it.
struct Shell {
    scratch: tempfile::TempDir,
}

/// How a command ended: its code, what it printed, what it told.
type Ended = (i32, String, String);

impl Shell {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("vault")).unwrap();
        Self { scratch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Runs the program on the vault.
    fn run(&self, arguments: &[&str], input: &[u8]) -> Ended {
        self.run_bare(&[&["--vault", "./vault"], arguments].concat(), input)
    }

    /// Runs the program in the folder beside the vault.
    fn run_bare(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = Command::new(env!("CARGO_BIN_EXE_vaultwright"))
            .args(arguments)
            .current_dir(self.scratch.path())
            .env_clear()
            .env("HOME", self.scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses before it reads closes the pipe.
        child.stdin.take().unwrap().write_all(input).ok();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    fn vault(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path("vault").join(name)).unwrap()
    }
}

#[test]
fn a_pipeline_publishes_is_refused_to_clobber_and_replaces_by_hash() {
    let shell = Shell::new();
    std::fs::write(shell.path("r.pdf"), "%PDF-1.7 one").unwrap();
    let (code, out, _) = shell.run(&["write", "Reports/r.pdf", "r.pdf"], b"");
    let hash = ContentHash::of(b"%PDF-1.7 one").to_string();
    assert_eq!((code, out), (0, format!("Wrote 12 bytes to Reports/r.pdf — content_hash: {hash}\n")));
    let (code, out, told) = shell.run(&["write", "Reports/r.pdf"], b"%PDF-1.7 two");
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(told.contains("Nothing was written."), "{told}");
    let replace = ["write", "Reports/r.pdf", "-", "--overwrite", "--expected-hash", &hash];
    assert_eq!(shell.run(&replace, b"%PDF-1.7 two").0, 0);
    assert_eq!(shell.vault("Reports/r.pdf"), b"%PDF-1.7 two");
    assert_eq!(shell.run(&replace, b"%PDF-1.7 three").0, 5);
    assert_eq!(shell.vault("Reports/r.pdf"), b"%PDF-1.7 two");
}

/// The README's lines for a report under a fixed name.
fn recipe() -> &'static str {
    let blocks = include_str!("../../README.md").split("```sh\n").skip(1);
    let mut blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.find(|block| block.contains("Reports/latest.pdf")).unwrap()
}

#[test]
fn the_readmes_recipe_creates_then_replaces_and_is_refused_over_an_edit() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("out")).unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_vaultwright")).parent().unwrap();
    let path = std::env::join_paths([program, "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    for (build, code, kept) in [
        ("echo one", 0, "one\n"),
        ("echo two", 0, "two\n"),
        ("echo mine | tee vault/Reports/latest.pdf", 5, "mine\n"),
    ] {
        let script = format!("make() {{ {build} > out/report.pdf; }}\n{}", recipe());
        let script = script.replace("--require-durable", "");
        let mut shell_program = Command::new("bash");
        shell_program.args(["-eo", "pipefail", "-c", &script]).current_dir(shell.path("."));
        let output = shell_program.env("HOME", shell.path(".")).env("PATH", &path).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{build}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(shell.vault("Reports/latest.pdf")).unwrap(), kept);
    }
}

#[test]
fn failures_are_json_where_that_was_asked_for() {
    let shell = Shell::new();
    let (code, out, _) = shell.run(&["write", "../x", "--json"], b"x");
    let error: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &error["error"]["data"]["reason"]), (7, &"path_traversal".into()));
    let (code, out, _) = shell.run(&["--json", "write", "a.md"], b"x");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["created"]), (0, &true.into()));
}

#[test]
fn a_command_line_that_cannot_be_followed_is_told_in_json_too() {
    let shell = Shell::new();
    for (arguments, problem) in [
        (&["write", "b.md", "--no-such-flag", "--json"][..], "unknown_key"),
        (&["--json", "write"], "missing"),
        (&["--json", "hash", "a.md", "b.md", "--check", &ContentHash::of(b"").to_string()], "conflict"),
        (&["--json", "write", "a.md", "--max-file-write-bytes", "many"], "type"),
        (&["--json", "call", "read_file", "[]"], "type"),
        (&["--json", "call", "no_such_tool"], "unknown_key"),
        (&["--json", "hash", "a.md", "--vault", ""], "enum"),
    ] {
        let (code, out, _) = shell.run(arguments, b"");
        let error: Value = serde_json::from_str(&out).unwrap();
        let data = &error["error"]["data"];
        assert_eq!((code, &data["reason"]), (2, &"invalid_arguments".into()), "{arguments:?}: {out}");
        assert_eq!(data["problem"], problem, "{out}");
        assert_eq!((&error["error"]["code"], &data["retryable"]), (&(-32602).into(), &false.into()));
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.ends_with(". Nothing was written."), "{message}");
    }
}

#[test]
fn each_refusal_has_its_code() {
    let shell = Shell::new();
    std::fs::write(shell.path("vault/a.md"), "a").unwrap();
    let zeros = format!("sha256:{}", "0".repeat(64));
    for (arguments, code) in [
        (&["write", ".hidden", "-"][..], 7),
        (&["write", "/abs", "-"], 7),
        (&["write", "a.md", "--expected-hash", "abc", "--overwrite"], 2),
        (&["write", "a.md", "--expected-hash", &zeros], 5),
        (&["write", "A.md", "-"], 4),
        (&["write", "b.md", "none.pdf"], 3),
        (&["write", "b.md", "-", "--source-hash", &zeros], 5),
        (&["write", "b.md", "-", "--max-file-write-bytes", "1"], 8),
        (&["write", "b.md", "--no-such-flag"], 2),
        (&["read", "none.md"], 3),
        (&["read", "."], 7),
        (&["hash", "a.md", "--check", &zeros], 5),
        (&["hash", "a.md", "b.md", "--check", &zeros], 2),
    ] {
        let (ended, _, told) = shell.run(arguments, b"xx");
        assert_eq!(ended, code, "{arguments:?}: {told}");
    }
    for (vault, code) in [("./none", 3), ("unknown", 3), ("./vault/a.md", 15)] {
        assert_eq!(shell.run_bare(&["--vault", vault, "read", "a.md"], b"").0, code, "{vault}");
    }
    assert_eq!(std::fs::read_dir(shell.path("vault")).unwrap().count(), 1);
}

#[test]
fn bytes_come_out_as_they_are() {
    let shell = Shell::new();
    let bytes: Vec<u8> = (0..=255).collect();
    std::fs::write(shell.path("vault/a.bin"), &bytes).unwrap();
    assert_eq!(shell.run(&["read", "a.bin", "-o", "out.bin"], b"").0, 0);
    assert_eq!(std::fs::read(shell.path("out.bin")).unwrap(), bytes);
    assert_eq!(shell.run(&["read", "a.bin", "-o", "out.bin", "--range", "65:2"], b"").0, 4);
    assert_eq!(shell.run(&["read", "a.bin", "-o", "out.bin", "--range", "65:2", "--force"], b"").0, 0);
    assert_eq!(std::fs::read(shell.path("out.bin")).unwrap(), b"AB");
    assert_eq!(shell.run(&["read", "a.bin", "--range", "65:2"], b"").1, "AB");
    assert_eq!(shell.run(&["read", "none", "-o", "new.bin"], b"").0, 3);
    assert!(!shell.path("new.bin").exists());
}

#[test]
fn hashes_are_those_of_sha256sum() {
    let shell = Shell::new();
    std::fs::write(shell.path("vault/a.md"), "hello\n").unwrap();
    let hash = ContentHash::of(b"hello\n").to_string();
    assert_eq!(shell.run(&["hash", "a.md"], b"").1, format!("{hash}  a.md\n"));
    assert_eq!(shell.run(&["hash", "-"], b"hello\n").1, format!("{hash}  -\n"));
    assert_eq!(shell.run(&["hash", "a.md", "--check", &hash], b"").0, 0);
}

#[test]
fn a_dry_run_writes_nothing_and_durability_can_be_demanded() {
    let shell = Shell::new();
    let (code, out, _) = shell.run(&["write", "p/a.md", "--dry-run"], b"hello\n");
    assert_eq!((code, out.starts_with("Would write 6 bytes")), (0, true), "{out}");
    assert_eq!(std::fs::read_dir(shell.path("vault")).unwrap().count(), 0);
    let arguments = ["write", "a.md", "--require-durable", "--vault-durability", "none"];
    assert_eq!(shell.run(&arguments, b"hello\n").0, 11);
    assert_eq!(shell.vault("a.md"), b"hello\n");
}

#[test]
fn the_same_bytes_again_are_no_write_even_from_a_pipe() {
    let shell = Shell::new();
    shell.run(&["write", "a.md"], b"hello\n");
    let inode = || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(shell.path("vault/a.md")).unwrap());
    let before = inode();
    let (code, out, _) = shell.run(&["write", "a.md", "--overwrite", "--require-durable"], b"hello\n");
    assert_eq!((code, out.starts_with("Wrote nothing: a.md already holds")), (0, true), "{out}");
    assert_eq!(inode(), before);
}

#[test]
fn a_known_vault_is_chosen_by_its_name() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("other")).unwrap();
    let other = format!("work={}", shell.path("other").display());
    let (code, _, told) =
        shell.run_bare(&["--vault", "WORK", "--named-vault", &other, "write", "a.md", "/dev/null"], b"");
    assert_eq!(code, 0, "{told}");
    assert!(shell.path("other/a.md").exists());
}

/// The program on the vault, still running.
fn start(shell: &Shell, arguments: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_vaultwright"))
        .args(["--vault", "./vault"])
        .args(arguments)
        .current_dir(shell.scratch.path())
        .env_clear()
        .env("HOME", shell.scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the program has read what was piped in: nothing is left in the pipe.
fn wait_until_read(pipe: &std::process::ChildStdin) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while rustix::io::ioctl_fionread(pipe).unwrap() > 0 {
        assert!(std::time::Instant::now() < deadline, "the program does not read");
        std::thread::yield_now();
    }
}

#[test]
fn a_pipeline_that_is_interrupted_publishes_no_half_of_it() {
    for name in ["old.md", "new.md"] {
        let shell = Shell::new();
        std::fs::write(shell.path("vault/old.md"), "whole").unwrap();
        let mut child = start(&shell, &["write", name, "--overwrite"]);
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"first half").unwrap();
        wait_until_read(&pipe);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // Who cancels a pipeline ends its first program too: the end of the input is no success.
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}");
        assert_eq!(shell.vault("old.md"), b"whole");
        assert_eq!(std::fs::read_dir(shell.path("vault")).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn an_interrupt_ends_a_write_that_waits_for_its_input() {
    let shell = Shell::new();
    let mut child = start(&shell, &["write", "new.md"]);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"first half").unwrap();
    wait_until_read(&pipe);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Nothing was written."));
    assert_eq!(std::fs::read_dir(shell.path("vault")).unwrap().count(), 0);
}

#[test]
fn an_interrupt_ends_whatever_waits_for_standard_input() {
    for arguments in [&["hash", "-"][..], &["call", "read_file", "-"]] {
        let shell = Shell::new();
        let mut child = start(&shell, arguments);
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"{").unwrap();
        wait_until_read(&pipe);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // The pipe stays open: only the signal can end the program.
        let output = child.wait_with_output().unwrap();
        drop(pipe);
        assert_eq!(output.status.code(), Some(130), "{arguments:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("left behind"), "{arguments:?}: {told}");
    }
}

#[test]
fn a_link_at_the_output_is_not_replaced() {
    let shell = Shell::new();
    std::fs::write(shell.path("vault/a.md"), "a").unwrap();
    std::fs::write(shell.path("target"), "kept").unwrap();
    std::os::unix::fs::symlink("target", shell.path("link")).unwrap();
    let (code, _, told) = shell.run(&["read", "a.md", "-o", "link", "--force"], b"");
    assert_eq!(code, 10, "{told}");
    assert!(told.contains("no regular file"), "{told}");
    assert!(std::fs::symlink_metadata(shell.path("link")).unwrap().is_symlink());
    assert_eq!(std::fs::read(shell.path("target")).unwrap(), b"kept");
}

#[test]
fn the_server_lets_its_pipe_hold_more_than_the_default() {
    let shell = Shell::new();
    let mut child = start(&shell, &["serve"]);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    wait_until_read(&pipe);
    let size = rustix::pipe::fcntl_getpipe_size(&pipe).unwrap();
    drop(pipe);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(size, 1024 * 1024);
}

#[test]
fn a_call_acts_on_the_vault_that_was_named() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("other")).unwrap();
    let other = format!("work={}", shell.path("other").display());
    let write = r#"{"path":"a.md","content":"QQ=="}"#;
    let call = |vault: &str| {
        shell.run_bare(&["--named-vault", &other, "--vault", vault, "call", "write_file", write], b"")
    };
    assert_eq!(call("Work").0, 0);
    assert_eq!(std::fs::read(shell.path("other/a.md")).unwrap(), b"A");
    assert_eq!(call("typo").0, 3);
}

#[test]
fn a_vault_flag_that_names_nothing_is_no_other_vault() {
    let shell = Shell::new();
    for vault in ["", "${VAULT}"] {
        let (code, _, told) = shell.run_bare(&["--vault", vault, "write", "a.md"], b"x");
        assert_eq!(code, 2, "{told}");
    }
}

#[test]
fn an_answer_that_cannot_be_printed_is_no_promise_that_nothing_was_written() {
    let shell = Shell::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    std::fs::write(shell.path("in.md"), "x").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vaultwright"))
        .args(["--vault", "./vault", "write", "a.md", "in.md"])
        .current_dir(shell.scratch.path())
        .env_clear()
        .env("HOME", shell.scratch.path())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Wrote 1 bytes to a.md"));
}

#[test]
fn a_copy_that_fails_leaves_the_file_that_was_there() {
    let shell = Shell::new();
    std::fs::write(shell.path("keep.bin"), "kept").unwrap();
    assert_eq!(shell.run(&["read", "none.md", "-o", "keep.bin", "--force"], b"").0, 3);
    let (code, _, told) = shell.run(&["read", "none.md", "-o", "no/folder.bin"], b"");
    assert_eq!(code, 3, "{told}");
    assert_eq!(std::fs::read(shell.path("keep.bin")).unwrap(), b"kept");
    std::fs::write(shell.path("vault/a.md"), "new").unwrap();
    let (code, _, told) = shell.run(&["read", "a.md", "-o", "no/folder.bin"], b"");
    assert_eq!((code, told.contains("no/folder.bin was not written")), (10, true), "{told}");
    let beside = std::fs::read_dir(shell.scratch.path()).unwrap().count();
    assert_eq!(shell.run(&["read", "a.md", "-o", "keep.bin", "--force"], b"").0, 0);
    assert_eq!(std::fs::read(shell.path("keep.bin")).unwrap(), b"new");
    assert_eq!(std::fs::read_dir(shell.scratch.path()).unwrap().count(), beside);
}

#[test]
fn a_difference_and_a_write_that_may_not_last_are_told() {
    let shell = Shell::new();
    std::fs::write(shell.path("vault/a.md"), "a").unwrap();
    let (code, _, told) = shell.run(&["hash", "a.md", "--check", &ContentHash::of(b"b").to_string()], b"");
    assert_eq!((code, told.contains("another")), (5, true), "{told}");
    let durable = ["write", "b.md", "--require-durable", "--vault-durability", "none"];
    let (code, _, told) = shell.run(&durable, b"b");
    assert_eq!((code, told.contains("was written, but is not known to survive")), (11, true), "{told}");
}
