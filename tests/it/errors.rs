//! Every reason, raised by a client: its number, whether to try again, its words, its facts, its exit code.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
};

use serde_json::{Value, json};
use vaultwright::error;

use crate::{
    client::{Era, Process, request},
    tools::{H, Z, b64},
};

/// `reason`, code, retryable, exit code.
const REASONS: &str = include_str!("reasons.tsv");

/// Raised by a full disk, by chance, or by a fault of ours alone: `tests/fs` and the tests beside the code reach them.
const BY_FAULTS_ALONE: &[&str] = &[
    "io_error",
    "mount_boundary",
    "no_space",
    "parent_moved",
    "read_only_filesystem",
    "resource_exhausted",
    "internal",
    // Thirty seconds without a place in the pool.
    "server_busy",
    // Stateless HTTP alone cannot keep a selection.
    "selection_unavailable",
];

/// Raised below by a user whom permissions bind.
const NOT_AS_ROOT: &[&str] = &["permission_denied", "vault_unreadable"];

/// Everything a reason is raised with: variables beside the usual ones, the tool, its arguments.
struct Case {
    reason: &'static str,
    environment: Vec<(&'static str, String)>,
    tool: &'static str,
    arguments: Value,
    /// The facts beside `reason`, `recovery` and `retryable`, in their order.
    facts: &'static [&'static str],
}

fn read(reason: &'static str, arguments: Value, facts: &'static [&'static str]) -> Case {
    Case { reason, environment: Vec::new(), tool: "read_file", arguments, facts }
}

fn write(reason: &'static str, arguments: Value, facts: &'static [&'static str]) -> Case {
    Case { tool: "write_file", ..read(reason, arguments, facts) }
}

fn select(reason: &'static str, arguments: Value, facts: &'static [&'static str]) -> Case {
    Case { tool: "vault_select", ..read(reason, arguments, facts) }
}

impl Case {
    fn under(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((variable, value.into()));
        self
    }
}

/// A vault in which everything can go wrong, and folders beside it.
fn prepare(root: &Path) {
    for folder in ["vault/Sub", "vault/deny", "open", "a/Twin", "b/Twin", "blocked"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (file, bytes) in [
        ("vault/a.md", &b"hello\n"[..]),
        ("vault/bad.md", b"\xff"),
        ("vault/two.md", b"1"),
        ("vault/TWO.md", b"2"),
        ("vault/nine.bin", b"nine byte"),
        ("open/in.pdf", b"%PDF"),
    ] {
        fs::write(root.join(file), bytes).unwrap();
    }
    symlink("a.md", root.join("vault/l.md")).unwrap();
    symlink("/etc", root.join("vault/out")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let (fifo, here) = (rustix::fs::FileType::Fifo, rustix::fs::CWD);
    rustix::fs::mknodat(here, root.join("vault/pipe"), fifo, mode, 0).unwrap();
}

fn over(path: &str, hash: Option<&str>) -> Value {
    json!({ "path": path, "content": "QQ==", "overwrite": true, "expected_hash": hash })
}

fn argument_cases(root: &Path) -> Vec<Case> {
    let source = |name: &str| json!({ "path": "n.md", "source_path": root.join("open").join(name) });
    let sources = root.join("open").to_str().unwrap().to_owned();
    let mismatched = json!({ "path": "n.md", "source_path": root.join("open/in.pdf"), "source_hash": Z });
    let opened = |case: Case| case.under("WRITE_FILE_SOURCE_PATHS", sources.clone());
    vec![
        read(
            "invalid_arguments",
            json!({ "path": "a.md", "nope": 1 }),
            &["field", "problem", "allowed", "given"],
        ),
        write("malformed_precondition", over("a.md", Some("x")), &["field", "expectedFormat"]),
        write("invalid_base64", json!({ "path": "n.md", "content": "!" }), &["offsetInBytes"]),
        write("tool_disabled", over("a.md", None), &["tool", "setting"]).under("OBSIDIAN_READ_ONLY", "true"),
        opened(write("source_forbidden", json!({ "path": "n.md", "source_path": "/etc/passwd" }), &[])),
        opened(write("source_missing", source("none"), &[])),
        opened(write("source_not_a_file", source(""), &[])),
        opened(write("source_mismatch", mismatched, &["actualHash"])),
    ]
}

fn path_cases() -> Vec<Case> {
    vec![
        read("path_invalid", json!({ "path": "" }), &["path", "problem"]),
        read("path_traversal", json!({ "path": "../x" }), &["path"]),
        read("path_absolute", json!({ "path": "/etc/passwd" }), &["path"]),
        read("hidden_path", json!({ "path": ".obsidian/app.json" }), &["path"]),
        read("path_forbidden", json!({ "path": "deny/x.md" }), &["path", "op", "subreason"])
            .under("OBSIDIAN_DENY_PATHS", "deny"),
        read("path_forbidden", json!({ "path": "x.md" }), &["path", "op", "subreason", "activeScope"])
            .under("OBSIDIAN_READ_PATHS", "Sub"),
        read("path_is_directory", json!({ "path": "Sub" }), &["path"]),
        read("not_a_file", json!({ "path": "pipe" }), &["path", "problem"]),
        read("not_a_directory", json!({ "path": "a.md/x" }), &["path", "existingPath"]),
        write("symlink_refused", over("l.md", None), &["path", "target"]),
        read("symlink_escapes", json!({ "path": "out/passwd" }), &["path", "problem"]),
        read("file_missing", json!({ "path": "none.md" }), &["path", "suggestions"]),
        read("ambiguous_path", json!({ "path": "Two.md" }), &["path", "candidates"]),
        write("case_variant_exists", over("A.md", None), &["path", "existingPath"]),
        write("case_variant_exists", over("Two.md", None), &["path"]),
        read("not_utf8", json!({ "path": "bad.md", "encoding": "text" }), &["path", "offsetInBytes", "hash"]),
        read(
            "too_large",
            json!({ "path": "nine.bin", "encoding": "text" }),
            &["path", "sizeInBytes", "capInBytes", "setting"],
        )
        .under("MAX_FILE_READ_BYTES", "8"),
        write(
            "too_large",
            json!({ "path": "n.md", "content": b64("nine byte") }),
            &["path", "sizeInBytes", "capInBytes", "setting"],
        )
        .under("MAX_FILE_WRITE_BYTES", "8"),
    ]
}

fn write_cases() -> Vec<Case> {
    vec![
        write("no_incumbent", over("none.md", Some(H)), &["path"]),
        write(
            "precondition_unavailable",
            over("nine.bin", Some(H)),
            &["path", "sizeInBytes", "capInBytes", "setting"],
        )
        .under("MAX_HASH_BYTES", "8"),
        write("precondition_required", over("a.md", None), &["path", "currentHash", "currentSizeInBytes"])
            .under("WRITE_PRECONDITION_REQUIRED", "true"),
        write("stale_precondition", over("a.md", Some(Z)), &["path", "currentHash", "currentSizeInBytes"]),
        write(
            "file_exists",
            json!({ "path": "a.md", "content": "" }),
            &["path", "existingPath", "currentHash", "sizeInBytes"],
        ),
        write("staging_unsupported", json!({ "path": "n.md", "content": "" }), &["path", "setting"])
            .under("VAULT_MAX_TIER", "T2,C1"),
    ]
}

fn vault_cases(root: &Path) -> Vec<Case> {
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let known = json!({ "vaults": { "1": { "path": at("a/Twin") }, "2": { "path": at("b/Twin") } } });
    fs::write(root.join("obsidian.json"), known.to_string()).unwrap();
    let elsewhere = |folder: &str| json!({ "path": "a.md", "vaultPath": at(folder) });
    vec![
        read("vault_required", json!({ "path": "a.md" }), &["vaults"]).under("OBSIDIAN_VAULT_PATH", ""),
        select("vault_not_found", json!({ "name": "nobody" }), &["selector", "suggestions"]),
        select("ambiguous_vault", json!({ "name": "twin" }), &["candidates"])
            .under("KOBSIDIAN_OBSIDIAN_CONFIG", at("obsidian.json"))
            .under("KOBSIDIAN_VAULT_DISCOVERY", "on"),
        read("vault_missing", elsewhere("gone"), &["path"]),
        read("vault_not_a_directory", elsewhere("vault/a.md"), &["path"]),
        read("vault_path_not_absolute", json!({ "path": "a.md", "vaultPath": "x" }), &["path"]),
        read("vault_forbidden", elsewhere("blocked"), &["path"]).under("KOBSIDIAN_VAULT_DENY", "blocked"),
        read("vault_root_refused", json!({ "path": "a.md", "vaultPath": "/etc" }), &["path", "problem"]),
        read("vault_overlap", elsewhere("vault/Sub"), &["path", "relation", "other"])
            .under("OBSIDIAN_DENY_PATHS", "deny"),
    ]
}

/// What a case raised: in the server's answer, and as the command line ends.
fn raise(root: &Path, case: &Case) -> (Value, Value, Option<i32>) {
    let vault = root.join("vault");
    let state = root.join("state");
    let mut environment = BTreeMap::from([
        ("OBSIDIAN_VAULT_PATH", vault.to_str().unwrap()),
        ("KOBSIDIAN_VAULT_DISCOVERY", "off"),
        ("XDG_STATE_HOME", state.to_str().unwrap()),
    ]);
    environment.extend(case.environment.iter().map(|(variable, value)| (*variable, value.as_str())));
    let environment: Vec<_> = environment.into_iter().collect();
    let (mut server, _) = Process::open(Era::Modern, &environment);
    let call = json!({ "name": case.tool, "arguments": case.arguments });
    let answer = server.ask(&request(Era::Modern, 1, "tools/call", call));
    let arguments = case.arguments.to_string();
    let ending = Process::spawn(&["call", case.tool, &arguments, "--json"], &environment).close();
    let shell: Value = serde_json::from_str(&ending.rest[0]).unwrap();
    (answer["result"].clone(), shell["error"].clone(), ending.code)
}

/// What holds for the failure of any case.
fn check(root: &Path, case: &Case) {
    let (result, shell, exit) = raise(root, case);
    let error = &result["_meta"]["dev.vaultwright/error"];
    assert_eq!(error["data"]["reason"], case.reason, "{result}");
    assert_eq!(without_digits(error), without_digits(&shell), "the shell tells what the server tells");
    check_row(case.reason, error, exit);
    check_words(root, case, error, &result);
    check_facts(case, error);
}

fn check_facts(case: &Case, error: &Value) {
    let keys: Vec<_> = error["data"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected: Vec<_> =
        ["reason"].iter().chain(case.facts).chain(&["recovery", "retryable"]).copied().collect();
    assert_eq!(keys, expected);
}

/// Times differ from run to run.
fn without_digits(error: &Value) -> String {
    error.to_string().replace(|letter: char| letter.is_ascii_digit(), "")
}

fn check_row(reason: &str, error: &Value, exit: Option<i32>) {
    let row = REASONS.lines().find(|row| row.split('\t').next() == Some(reason)).unwrap();
    let [_, code, retryable, number] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
    assert_eq!(error["code"].to_string(), code, "{reason}");
    assert_eq!(error["data"]["retryable"], retryable.starts_with("yes"), "{reason}");
    assert_eq!(exit.unwrap().to_string(), number, "{reason}");
}

/// Words that a hint tells the next step with.
const STEPS: &[&str] = &[
    "Ask",
    "Add",
    "Build",
    "Call",
    "Check",
    "Choose",
    "Copy",
    "Did you mean",
    "Drop",
    "Fix",
    "Give",
    "Mount",
    "Name",
    "Pass",
    "Read",
    "Select",
    "Send",
    "Spell",
    "Use",
    "Write",
    "correct it",
    "send one of",
    "use another path",
    "use the listed tools",
];

fn check_words(root: &Path, case: &Case, error: &Value, result: &Value) {
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with(" Nothing was written."), "{message}");
    let hint = error["data"]["recovery"]["hint"].as_str().unwrap();
    assert!(hint.len() > 15 && hint.ends_with('.'), "{hint}");
    assert!(STEPS.iter().any(|step| hint.contains(step)), "no next step: {hint}");
    // The folders that a caller named, and those that `vault_list` shows, are the only ones that are told.
    let of_vaults = case.reason.starts_with("vault_") || case.reason == "ambiguous_vault";
    let named =
        case.arguments.to_string().contains(root.to_str().unwrap()) && !case.reason.starts_with("source_");
    let told = result.to_string().contains(root.to_str().unwrap());
    assert!(!told || of_vaults || named, "{}: {result}", case.reason);
    assert_eq!(result.get("structuredContent"), None);
}

#[test]
fn every_reason_is_raised_by_a_client_or_by_faults_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    prepare(&root);
    let cases: Vec<_> = [argument_cases(&root), path_cases(), write_cases(), vault_cases(&root)]
        .into_iter()
        .flatten()
        .collect();
    let before = crate::tools::snapshot(&root.join("vault"));
    for case in &cases {
        check(&root, case);
    }
    assert_eq!(crate::tools::snapshot(&root.join("vault")), before);
    let mut raised: BTreeSet<&str> = cases.iter().map(|case| case.reason).collect();
    raised.extend(BY_FAULTS_ALONE);
    raised.extend(NOT_AS_ROOT);
    raised.extend(ELSEWHERE);
    let all = error::reasons();
    let all: BTreeSet<_> = all.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(raised, all);
}

/// Raised in the tests below and in those that are named: by two programs at once, or by two calls.
const ELSEWHERE: &[&str] = &[
    "concurrent_write",
    "source_changed",
    "stale_cursor",
    "vault_busy",
    "file_changing",
    "request_too_large",
    // A caller that cancelled is not answered; `cli` sees it.
    "cancelled",
];

/// A vault of one file for a test of two programs.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    prepare(scratch.path());
    let root = scratch.path().to_owned();
    (scratch, root)
}

#[test]
fn a_file_that_another_program_has_open_for_writing_is_not_replaced_by_its_hash() {
    let (_scratch, root) = scratch();
    let editor = fs::OpenOptions::new().write(true).open(root.join("vault/a.md")).unwrap();
    let case = write("concurrent_write", over("a.md", Some(H)), &["path", "problem"]);
    let (result, shell, exit) = raise(&root, &case);
    assert_eq!(result["isError"], true);
    assert_eq!((&shell["data"]["problem"], exit), (&json!("open_writer"), Some(6)));
    assert_eq!((&shell["data"]["retryable"], &shell["code"]), (&json!(true), &json!(-32002)));
    let told = shell["data"]["recovery"]["hint"].as_str().unwrap();
    assert!(told.starts_with("Call again once the other program has closed the file"), "{told}");
    assert_eq!(fs::read(root.join("vault/a.md")).unwrap(), b"hello\n");
    // Without a hash it is replaced, and the answer says what that is worth beside a writer.
    let (result, _, _) = raise(&root, &write("", over("a.md", None), &[]));
    assert_eq!(result["structuredContent"]["guarantee"], "detecting");
    drop(editor);
}

#[test]
fn a_folder_that_another_program_locks_is_busy() {
    let (_scratch, root) = scratch();
    let folder = fs::File::open(root.join("vault")).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let create = json!({ "path": "n.md", "content": "" });
    let case = write("vault_busy", create, &["path", "waitedMs"]).under("VAULT_LOCK_TIMEOUT_MS", "50");
    check(&root, &case);
    assert!(!root.join("vault/n.md").exists());
}

#[test]
fn a_source_that_moves_while_it_is_copied_has_changed() {
    use std::{
        io::Write,
        sync::atomic::{AtomicBool, Ordering},
    };
    let (_scratch, root) = scratch();
    let source = root.join("open/log");
    fs::write(&source, vec![b'x'; 8_000_000]).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = fs::OpenOptions::new().append(true).open(&source).unwrap();
            while !stop.load(Ordering::Relaxed) {
                log.write_all(b"y").unwrap();
            }
        });
        let call = json!({ "path": "new/n.md", "source_path": source });
        let case = write("source_changed", call, &[])
            .under("WRITE_FILE_SOURCE_PATHS", root.join("open").to_str().unwrap());
        check(&root, &case);
        stop.store(true, Ordering::Relaxed);
    });
    assert!(!root.join("vault/new").exists());
}

#[test]
fn a_cursor_of_another_list_is_stale() {
    let (_scratch, root) = scratch();
    let named = |name: &str| format!("{name}={}", root.join("a").join(name).display());
    let list = |more: &[&str], arguments: &Value| {
        let arguments = arguments.to_string();
        let vaults = [named("v"), named("w")];
        let mut line =
            vec!["--vault-discovery=off", "--named-vault", &vaults[0], "--named-vault", &vaults[1]];
        line.extend(more);
        line.extend(["call", "vault_list", &arguments, "--json"]);
        let ending = Process::spawn(&line, &[]).close();
        (serde_json::from_str::<Value>(&ending.rest[0]).unwrap(), ending.code)
    };
    let (first, _) = list(&[], &json!({ "limit": 1 }));
    let cursor = &first["structuredContent"]["nextCursor"];
    let other = named("x");
    let (answer, exit) = list(&["--named-vault", &other], &json!({ "limit": 1, "cursor": cursor }));
    check_row("stale_cursor", &answer["error"], exit);
    assert_eq!(answer["error"]["data"]["reason"], "stale_cursor");
}

/// One call by a user whom permissions bind, though the tests may run as root: the error, and the exit code.
fn call_as_nobody(root: &Path, case: &Case) -> (Value, Option<i32>) {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let program = root.join("program");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_vaultwright"), &program).unwrap();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(program);
    command.args(["call", case.tool, &case.arguments.to_string(), "--json", "--vault-discovery=off"]);
    command.env_clear().env("OBSIDIAN_VAULT_PATH", root.join("vault"));
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    (answer["error"].clone(), output.status.code())
}

#[test]
fn what_permissions_forbid_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let (_scratch, root) = scratch();
    let mode =
        |path: &str, mode| fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    mode("vault/a.md", 0);
    mode("blocked", 0);
    let blocked = json!({ "path": "a.md", "vaultPath": root.join("blocked") });
    for case in [
        read("permission_denied", json!({ "path": "a.md" }), &["path"]),
        read("permission_denied", json!({ "path": "a.md", "hash_only": true }), &["path"]),
        write("precondition_unavailable", over("a.md", Some(H)), &["path", "problem"]),
        read("vault_unreadable", blocked, &["path"]),
    ] {
        let (error, exit) = call_as_nobody(&root, &case);
        assert_eq!(error["data"]["reason"], case.reason, "{error}");
        check_row(case.reason, &error, exit);
        check_words(&root, &case, &error, &json!({ "error": error }));
        check_facts(&case, &error);
    }
    mode("blocked", 0o755);
}
