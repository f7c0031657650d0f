//! `write_file`, line by line of its specification.

use std::{os::unix::fs::MetadataExt, time::Instant};

use serde_json::{Value, json};

use super::{Desk, H, Z, b64, fifo, futures_of, hash, link, snapshot, stand};
use crate::{
    client::{ERAS, Era, Process, request},
    vault::vault,
};

const A: &str = "//- a.md\nhello\n";

fn text(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content, "encoding": "text" })
}

fn over(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content, "encoding": "text", "overwrite": true })
}

fn bound(path: &str, content: &str, hash: &str) -> Value {
    let mut call = over(path, content);
    call["expected_hash"] = hash.into();
    call
}

#[tokio::test]
async fn a_creation_tells_every_fact() {
    let desk = Desk::of("").await;
    let data = desk.ok("write_file", json!({ "path": "Out/2026/a.bin", "content": b64("hello\n") })).await;
    assert_eq!(
        data,
        json!({
            "result": format!("Wrote 6 bytes to Out/2026/a.bin — content_hash: {H}"),
            "path": "Out/2026/a.bin",
            "created": true,
            "changed": true,
            "hash": H,
            "previousSizeInBytes": 0,
            "currentSizeInBytes": 6,
            "durable": data["durable"],
            "createdFolders": ["Out", "Out/2026"],
            "warnings": [],
        })
        .as_object()
        .map(|facts| with_reason(facts.clone(), &data))
        .unwrap()
    );
    assert_eq!(desk.bytes("Out/2026/a.bin"), b"hello\n");
}

/// Whether a flush lasts depends on the file system of the machine's temporary folder.
fn with_reason(mut facts: serde_json::Map<String, Value>, data: &Value) -> Value {
    if data["durable"] == false {
        facts.insert("durableReason".into(), data["durableReason"].clone());
    }
    facts.into()
}

#[tokio::test]
async fn a_replacement_tells_what_it_replaced_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::of(A).await;
    let file = desk.vault.path().join("a.md");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let data = desk.ok("write_file", bound("a.md", "A", H)).await;
    assert_eq!(data["hash"], "sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd");
    assert_eq!((&data["previousHash"], &data["created"]), (&json!(H), &json!(false)));
    assert_eq!((&data["previousSizeInBytes"], &data["currentSizeInBytes"]), (&json!(6), &json!(1)));
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
}

/// Rows: incumbent, hash, the setting; the outcome. `over` has more bytes than are hashed here.
const LADDER: &[(&str, Option<&str>, bool, &str)] = &[
    ("none.md", Some("sha256:00"), false, "malformed_precondition"),
    ("none.md", Some(""), true, "malformed_precondition"),
    ("a.md", Some("nonsense"), true, "malformed_precondition"),
    ("over.md", Some("nonsense"), true, "malformed_precondition"),
    ("none.md", Some(H), false, "no_incumbent"),
    ("none.md", Some(H), true, "no_incumbent"),
    ("gone/none.md", Some(H), true, "no_incumbent"),
    ("none.md", None, false, "created"),
    ("none.md", None, true, "created"),
    ("over.md", Some(Z), false, "precondition_unavailable"),
    ("over.md", Some(Z), true, "precondition_unavailable"),
    ("over.md", None, true, "precondition_unavailable"),
    ("over.md", None, false, "over_cap"),
    ("a.md", None, true, "precondition_required"),
    ("a.md", None, false, "replaced"),
    ("a.md", Some(Z), false, "stale_precondition"),
    ("a.md", Some(Z), true, "stale_precondition"),
    ("a.md", Some(H), false, "replaced"),
    ("a.md", Some(H), true, "replaced"),
];

#[tokio::test]
async fn the_precondition_ladder_is_as_its_table() {
    for (path, hash, required, outcome) in LADDER {
        let desk = Desk::with("//- a.md\nhello\n//- over.md\nover the cap\n", |args| {
            args.files.max_hash_bytes = Some("8".into());
            args.files.write_precondition_required = Some(required.to_string());
        })
        .await;
        let mut call = over(path, "new");
        if let Some(hash) = hash {
            call["expectedHash"] = (*hash).into();
        }
        if outcome.contains('_') && *outcome != "over_cap" {
            let facts = desk.fails("write_file", call.clone(), outcome).await;
            check_facts(outcome, &facts);
            // The ladder runs in a dry run too.
            call["dry_run"] = true.into();
            desk.fails("write_file", call, outcome).await;
            continue;
        }
        let data = desk.ok("write_file", call).await;
        assert_eq!(data["created"], *outcome == "created", "{path} {hash:?}");
        assert_eq!(data.get("previousHashOmitted").is_some(), *outcome == "over_cap");
        assert_eq!(desk.bytes(path), b"new");
    }
}

fn check_facts(outcome: &str, facts: &Value) {
    match outcome {
        "malformed_precondition" => {
            assert_eq!(facts["expectedFormat"], "sha256:<64 lowercase hex>");
            assert!(!facts.to_string().contains("nonsense"));
        }
        "precondition_unavailable" => {
            let sizes = (&facts["sizeInBytes"], &facts["capInBytes"], &facts["setting"]);
            assert_eq!(sizes, (&json!(13), &json!(8), &json!("MAX_HASH_BYTES")));
        }
        "precondition_required" | "stale_precondition" => {
            assert_eq!((&facts["currentHash"], &facts["currentSizeInBytes"]), (&json!(H), &json!(6)));
        }
        _ => {}
    }
}

#[tokio::test]
async fn what_fails_earlier_is_the_answer_however_much_fails_later() {
    let desk = Desk::with(A, |args| args.files.max_file_write_bytes = Some("10".into())).await;
    let bad = "no base64!";
    let large = b64("more than ten bytes");
    for (call, reason) in [
        (json!({ "path": "../x", "content": bad, "expected_hash": "" }), "malformed_precondition"),
        (
            json!({ "path": "../x", "content": bad, "expected_hash": "", "vault_path": "nowhere" }),
            "malformed_precondition",
        ),
        (json!({ "path": "../x", "content": bad, "expected_hash": H }), "no_incumbent"),
        (json!({ "path": "", "content": bad, "expected_hash": H, "vaultPath": "/no/such" }), "no_incumbent"),
        (json!({ "path": "../x", "content": bad, "vault_path": "/no/such/vault" }), "vault_missing"),
        (json!({ "path": "../x", "content": bad, "overwrite": true, "expected_hash": H }), "path_traversal"),
        (
            json!({ "path": "a.md", "content": bad, "overwrite": true, "expected_hash": Z }),
            "stale_precondition",
        ),
        (
            json!({ "path": "a.md", "content": large, "overwrite": true, "expected_hash": Z }),
            "stale_precondition",
        ),
        (
            json!({ "path": "a.md", "content": b64("hello\n"), "overwrite": true, "expected_hash": Z }),
            "stale_precondition",
        ),
        (json!({ "path": "b.md", "content": bad, "overwrite": true, "expected_hash": Z }), "no_incumbent"),
        (json!({ "path": "a.md", "content": bad }), "invalid_base64"),
        (json!({ "path": "a.md", "content": large }), "too_large"),
        (json!({ "path": "a.md", "content": b64("x") }), "file_exists"),
        (json!({ "path": "a.md", "content": b64("x"), "dry_run": true }), "file_exists"),
        (json!({ "path": "a.md", "content": b64("hello\n") }), "file_exists"),
        (json!({ "path": "a.md/x", "content": bad }), "not_a_directory"),
        (json!({ "path": "A.md", "content": bad }), "case_variant_exists"),
        (
            json!({ "path": "../x", "content": bad, "encoding": "hex", "expected_hash": "" }),
            "invalid_arguments",
        ),
        (json!({ "path": "../x", "expected_hash": "" }), "invalid_arguments"),
        (json!({ "content": bad, "expected_hash": "" }), "invalid_arguments"),
    ] {
        desk.fails("write_file", call, reason).await;
    }
}

#[tokio::test]
async fn a_hash_in_any_other_spelling_is_malformed_and_not_echoed() {
    let desk = Desk::of(A).await;
    let digits = &H["sha256:".len()..];
    let spellings = [
        digits.to_owned(),
        H.to_uppercase(),
        format!("sha256:{}", digits.to_uppercase()),
        format!("SHA256:{digits}"),
        format!(" {H}"),
        format!("{H} "),
        format!("{H}\n"),
        format!("{H}0"),
        H[..H.len() - 1].to_owned(),
        format!("sha-256:{digits}"),
        format!("sha256:{}\u{e9}", &digits[..62]),
        String::new(),
    ];
    for spelling in &spellings {
        for overwrite in [true, false] {
            let call =
                json!({ "path": "a.md", "content": "", "overwrite": overwrite, "expected_hash": spelling });
            let facts = desk.fails("write_file", call, "malformed_precondition").await;
            assert!(spelling.is_empty() || !facts.to_string().contains(spelling.as_str()));
        }
    }
}

#[tokio::test]
async fn base64_is_strict() {
    let desk = Desk::of("").await;
    for (n, (content, bytes)) in
        [("", &b""[..]), ("QQ==", b"A"), ("AAAA", b"\0\0\0"), ("+/8=", b"\xfb\xff")].iter().enumerate()
    {
        let data = desk.ok("write_file", json!({ "path": format!("{n}.bin"), "content": content })).await;
        assert_eq!(data["hash"], hash(bytes));
        assert_eq!(desk.bytes(&format!("{n}.bin")), *bytes);
    }
    for (content, offset) in [
        ("QQ", 2),
        ("QR==", 1),
        ("QQ==\n", 4),
        ("Q Q=", 1),
        ("-_8=", 0),
        ("QQ==QQ==", 2),
        ("QQ=", 3),
        ("Q===", 1),
        ("====", 0),
        ("QQ\u{e9}=", 2),
        ("data:text/plain;base64,QQ==", 4),
    ] {
        let facts =
            desk.fails("write_file", json!({ "path": "x.bin", "content": content }), "invalid_base64").await;
        let found = facts["offsetInBytes"].as_u64().unwrap();
        assert!(found.abs_diff(offset) <= 2, "{content:?}: {found}");
        let hint = facts["recovery"]["hint"].as_str().unwrap();
        assert_eq!(hint.contains("data:"), content.starts_with("data:"), "{hint}");
    }
}

#[tokio::test]
async fn text_is_written_verbatim() {
    let desk = Desk::of("").await;
    let contents =
        ["\u{feff}bom", "a\r\nb\rc", "nul\0nul", "no newline", "", "e\u{301} \u{2028} 😀", "\u{1}\u{7f}"];
    for (n, content) in contents.iter().enumerate() {
        let path = format!("{n}.md");
        desk.ok("write_file", text(&path, content)).await;
        assert_eq!(desk.bytes(&path), content.as_bytes());
    }
}

#[tokio::test]
async fn identical_bytes_are_not_written_again() {
    let desk = Desk::of(A).await;
    let file = desk.vault.path().join("a.md");
    let before = stand(&file);
    for call in [over("a.md", "hello\n"), bound("a.md", "hello\n", &hash("hello\n"))] {
        for dry_run in [false, true] {
            let mut call = call.clone();
            call["dryRun"] = dry_run.into();
            let data = desk.ok("write_file", call).await;
            assert_eq!((&data["changed"], &data["created"]), (&json!(false), &json!(false)));
            assert_eq!(data.get("durable"), None);
            assert_eq!(data["hash"], data["previousHash"]);
            assert_eq!(stand(&file), before);
        }
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_diff_and_writes_nothing() {
    let desk = Desk::of("//- a.md\none\ntwo\n//- b.bin base64\n/w==\n").await;
    let before = snapshot(&desk.vault.path());
    let mut call = over("a.md", "one\n2\n");
    call["dry_run"] = true.into();
    let reply = desk.client.call("write_file", call).await;
    let data = reply.data();
    assert_eq!(data["diff"], "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!(
        (&data["dryRun"], &data["durable"], &data["changed"]),
        (&json!(true), &json!(false), &json!(true))
    );
    assert_eq!(
        (&data["hash"], &data["previousHash"]),
        (&json!(hash("one\n2\n")), &json!(hash("one\ntwo\n")))
    );
    assert!(data["result"].as_str().unwrap().starts_with("Would write 6 bytes to a.md"));

    let new = desk.ok("write_file", json!({ "path": "p/q/n.md", "content": "QQ==", "dry_run": true })).await;
    assert_eq!((&new["created"], &new["createdFolders"]), (&json!(true), &json!(["p", "p/q"])));
    assert!(new["diff"].as_str().unwrap().contains("+A"));

    let mut call = over("b.bin", "text");
    call["dry_run"] = true.into();
    assert_eq!(desk.ok("write_file", call).await.get("diff"), None);
    assert_eq!(snapshot(&desk.vault.path()), before);
}

#[tokio::test]
async fn a_dry_run_never_claims_that_something_was_made() {
    let desk = Desk::of("").await;
    let call = json!({ "path": "p/n.md", "content": "QQ==", "dry_run": true });
    let text = desk.client.call("write_file", call).await.text();
    assert!(!text.contains("folders made") && !text.contains("\ncreated"), "{text}");
}

#[tokio::test]
async fn an_nfd_name_on_disk_is_the_file_and_is_disclosed() {
    let desk = Desk::of("").await;
    desk.vault.put("cafe\u{301}.md", b"hello\n");
    let facts = desk.fails("write_file", text("caf\u{e9}.md", "x"), "file_exists").await;
    assert_eq!(facts["existingPath"], "cafe\u{301}.md");
    assert_eq!((&facts["currentHash"], &facts["sizeInBytes"]), (&json!(H), &json!(6)));
    let data = desk.ok("write_file", bound("caf\u{e9}.md", "x", H)).await;
    assert_eq!((&data["path"], &data["requestedPath"]), (&json!("cafe\u{301}.md"), &json!("caf\u{e9}.md")));
    assert_eq!(desk.bytes("cafe\u{301}.md"), b"x");
    assert!(!desk.has("caf\u{e9}.md"));
}

#[tokio::test]
async fn a_new_name_is_made_in_nfc_and_disclosed() {
    let desk = Desk::of("").await;
    let data = desk.ok("write_file", text("e\u{301}/e\u{301}.md", "x")).await;
    assert_eq!(
        (&data["path"], &data["requestedPath"]),
        (&json!("\u{e9}/\u{e9}.md"), &json!("e\u{301}/e\u{301}.md"))
    );
    assert_eq!(data["createdFolders"], json!(["\u{e9}"]));
    assert!(desk.has("\u{e9}/\u{e9}.md"));
}

#[tokio::test]
async fn several_spellings_of_one_name_are_ambiguous() {
    let desk = Desk::of("").await;
    for name in ["\u{1ed9}", "o\u{323}\u{302}", "\u{1ecd}\u{302}"] {
        if name != "\u{1ed9}" {
            desk.vault.put(&format!("{name}.md"), b"x");
        }
    }
    let facts = desk.fails("write_file", text("\u{1ed9}.md", "x"), "ambiguous_path").await;
    assert_eq!(facts["candidates"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_case_twin_of_a_file_or_folder_is_in_the_way() {
    let desk = Desk::of("//- a.md\nhello\n//- Sub/n.md\nx\n//- two/b.md\n1\n//- two/B.md\n2\n").await;
    for (path, existing) in [
        ("A.md", json!("a.md")),
        ("A.MD", json!("a.md")),
        ("sub/x.md", json!("Sub")),
        ("sub/deep/x.md", json!("Sub")),
        ("Sub/N.md", json!("Sub/n.md")),
    ] {
        for call in [text(path, "x"), over(path, "x")] {
            let facts = desk.fails("write_file", call, "case_variant_exists").await;
            assert_eq!(facts["existingPath"], existing, "{path}");
        }
    }
    desk.fails("write_file", bound("A.md", "x", H), "case_variant_exists").await;
    desk.ok("write_file", over("two/b.md", "exact")).await;
    desk.vault.put("\u{130}x.md", b"");
    desk.vault.put("stra\u{df}e.md", b"");
    desk.fails("write_file", text("STRASSE.md", "x"), "case_variant_exists").await;
    desk.vault.put("m/q.md", b"");
    desk.vault.put("m/Q.md", b"");
    desk.vault.put("m/x/", b"");
    let facts = desk.fails("write_file", text("M/n.md", "x"), "case_variant_exists").await;
    assert_eq!(facts["existingPath"], "m");
}

#[tokio::test]
async fn case_twins_may_stand_side_by_side_where_the_operator_says_so() {
    let desk = Desk::with(A, |args| args.files.vault_allow_case_variants = Some("true".into())).await;
    desk.ok("write_file", text("A.md", "other")).await;
    assert_eq!((desk.bytes("a.md"), desk.bytes("A.md")), (b"hello\n".to_vec(), b"other".to_vec()));
}

#[tokio::test]
async fn a_final_link_is_refused_with_its_target() {
    let desk = Desk::of("//- a.md\nhello\n//- d/n.md\nx\n").await;
    let outside = "outside the vault";
    let inside = desk.vault.path().join("a.md");
    for (name, target, told) in [
        ("l.md", "a.md".into(), "a.md"),
        ("d/up.md", "../a.md".into(), "a.md"),
        ("abs.md", inside, "a.md"),
        ("dangling.md", "none.md".into(), "none.md"),
        ("folder.md", "d".into(), "d"),
        ("out.md", "/etc/passwd".into(), outside),
        ("climb.md", "../../x".into(), outside),
        ("self.md", "self.md".into(), "self.md"),
    ] {
        let target: std::path::PathBuf = target;
        link(&desk.vault, name, target);
        for call in [text(name, "x"), over(name, "x"), bound(name, "x", H)] {
            let facts = desk.fails("write_file", call, "symlink_refused").await;
            assert_eq!(facts["target"], told, "{name}");
        }
    }
}

#[tokio::test]
async fn folder_links_that_stay_inside_work_and_others_are_refused() {
    let desk = Desk::of("//- Notes/n.md\nx\n//- .obsidian/app.json\n{}\n//- file\nx\n").await;
    link(&desk.vault, "rel", "Notes");
    link(&desk.vault, "abs", desk.vault.path().join("Notes"));
    link(&desk.vault, "out", "/etc");
    link(&desk.vault, "up", "..");
    link(&desk.vault, "pub", ".obsidian");
    link(&desk.vault, "loop", "loop");
    link(&desk.vault, "tofile", "file");
    for name in ["rel", "abs"] {
        let path = format!("{name}/deep/{name}.md");
        let data = desk.ok("write_file", text(&path, "x")).await;
        assert_eq!(data["path"], path);
        assert_eq!(desk.bytes(&format!("Notes/deep/{name}.md")), b"x");
    }
    for (path, reason) in [
        ("out/x.md", "symlink_escapes"),
        ("up/x.md", "symlink_escapes"),
        ("up/vault/x.md", "symlink_escapes"),
        ("loop/x.md", "symlink_escapes"),
        ("pub/x.md", "hidden_path"),
        ("pub/app.json", "hidden_path"),
        ("pub/new/x.md", "hidden_path"),
        ("file/x.md", "not_a_directory"),
        ("tofile/x.md", "not_a_directory"),
    ] {
        desk.fails("write_file", text(path, "x"), reason).await;
    }
    let facts = desk.fails("write_file", text("loop/x.md", "x"), "symlink_escapes").await;
    assert_eq!(facts["problem"], "loop");
    let facts = desk.fails("write_file", text("Notes/n.md/x/y.md", "x"), "not_a_directory").await;
    assert_eq!(facts["existingPath"], "Notes/n.md");
}

#[tokio::test]
async fn a_dangling_folder_link_is_no_folder_to_make() {
    let desk = Desk::of("").await;
    link(&desk.vault, "gone", "nowhere");
    let before = snapshot(&desk.vault.path());
    let reply = desk.client.call("write_file", text("gone/x.md", "x")).await;
    assert!(reply.error().is_some(), "{}", reply.text());
    assert_eq!(snapshot(&desk.vault.path()), before);
    let reason = reply.error().unwrap()["data"]["reason"].as_str().unwrap().to_owned();
    assert!(
        ["file_missing", "not_a_directory", "symlink_escapes", "symlink_refused"].contains(&&*reason),
        "{reason}"
    );
}

#[tokio::test]
async fn paths_that_name_no_visible_file_are_refused_before_any_look() {
    let desk = Desk::of(A).await;
    let long = "x".repeat(256);
    let deep = "d/".repeat(2048) + "x";
    for (path, reason, problem) in [
        ("", "path_invalid", "empty"),
        ("a\0b", "path_invalid", "control"),
        ("a\nb", "path_invalid", "control"),
        ("a/", "path_invalid", "trailing_slash"),
        ("a\\", "path_invalid", "trailing_slash"),
        (&long, "path_invalid", "component_too_long"),
        (&deep, "path_invalid", "too_long"),
        ("..", "path_traversal", ""),
        ("../x", "path_traversal", ""),
        ("a/../b", "path_traversal", ""),
        ("a\\..\\b", "path_traversal", ""),
        ("./a.md", "path_traversal", ""),
        (".obsidian/app.json", "hidden_path", ""),
        (".env", "hidden_path", ""),
        ("a/.git/x", "hidden_path", ""),
        ("C:\\x", "path_absolute", ""),
        ("/etc/x", "path_absolute", ""),
        ("\\\\server\\x", "path_absolute", ""),
    ] {
        for call in [text(path, "x"), over(path, "x")] {
            let facts = desk.fails("write_file", call, reason).await;
            assert!(facts["path"] == path || path.len() > 4095, "{facts}");
            assert_eq!(facts.get("problem").and_then(Value::as_str).unwrap_or(""), problem);
        }
    }
}

#[tokio::test]
async fn an_absolute_path_into_the_vault_is_answered_with_its_relative_form() {
    let desk = Desk::of(A).await;
    let absolute = desk.vault.path().join("Sub/n.md");
    let facts = desk.fails("write_file", text(absolute.to_str().unwrap(), "x"), "path_absolute").await;
    assert_eq!(facts["relativePath"], "Sub/n.md");
    let hint = facts["recovery"]["hint"].as_str().unwrap();
    assert!(hint.contains("Sub/n.md"), "{hint}");
    for hidden in [".obsidian/app.json", "../other.md"] {
        let absolute = desk.vault.path().join(hidden);
        let facts = desk.fails("write_file", text(absolute.to_str().unwrap(), "x"), "path_absolute").await;
        assert_eq!(facts.get("relativePath"), None);
    }
}

#[tokio::test]
async fn folders_fifos_and_sockets_are_refused_at_once() {
    let desk = Desk::of("//- d/n.md\nx\n").await;
    fifo(&desk.vault, "pipe.md");
    let _socket = std::os::unix::net::UnixListener::bind(desk.vault.path().join("s.sock")).unwrap();
    let start = Instant::now();
    for call in [text, over] {
        desk.fails("write_file", call("d", "x"), "path_is_directory").await;
        let facts = desk.fails("write_file", call("pipe.md", "x"), "not_a_file").await;
        assert_eq!(facts["problem"], "fifo");
        let facts = desk.fails("write_file", call("s.sock", "x"), "not_a_file").await;
        assert_eq!(facts["problem"], "socket");
    }
    desk.fails("write_file", bound("pipe.md", "x", H), "not_a_file").await;
    assert!(start.elapsed().as_secs() < 5);
}

#[tokio::test]
async fn sizes_are_judged_decoded() {
    let desk = Desk::with(A, |args| args.files.max_file_write_bytes = Some("6".into())).await;
    desk.ok("write_file", json!({ "path": "six.bin", "content": b64("sixsix") })).await;
    for call in [json!({ "path": "n.bin", "content": b64("sevenxx") }), over("a.md", "s\u{e9}ven!")] {
        let facts = desk.fails("write_file", call, "too_large").await;
        let sizes = (&facts["sizeInBytes"], &facts["capInBytes"], &facts["setting"]);
        assert_eq!(sizes, (&json!(7), &json!(6), &json!("MAX_FILE_WRITE_BYTES")));
    }
}

#[tokio::test]
async fn an_incumbent_over_the_write_cap_can_still_be_guarded() {
    let desk = Desk::with(A, |args| args.files.max_file_write_bytes = Some("2".into())).await;
    let data = desk.ok("write_file", bound("a.md", "x", &hash("hello\n"))).await;
    assert_eq!(data["previousSizeInBytes"], 6);
}

#[tokio::test]
async fn under_read_only_the_tool_is_unlisted_and_says_why_in_both_spellings() {
    let desk = Desk::with(A, |args| args.vaults.read_only = Some("true".into())).await;
    assert!(desk.client.tools().await.iter().all(|tool| tool.name != "write_file"));
    for tool in ["write_file", "write.file"] {
        for call in
            [text("b.md", "x"), json!({ "unknown": 1 }), json!({ "path": "../x", "expected_hash": "" })]
        {
            let facts = desk.fails(tool, call, "tool_disabled").await;
            assert_eq!(
                (&facts["tool"], &facts["setting"]),
                (&json!("write_file"), &json!("OBSIDIAN_READ_ONLY"))
            );
        }
    }
}

#[tokio::test]
async fn arguments_are_taken_in_either_spelling_and_unknown_ones_refused() {
    let desk = Desk::of(A).await;
    let call = json!({ "PATH": "b.md", "content": "QQ==", "dryRun": "true", "EXPECTED_HASH": null });
    assert_eq!(desk.ok("write_file", call).await["dryRun"], true);
    for (call, field, problem) in [
        (json!({ "path": "b", "content": "", "mode": "x" }), "mode", "unknown_key"),
        (json!({ "path": "b", "content": "", "source_path": "/x" }), "source_path", "unknown_key"),
        (json!({ "path": "b", "content": "", "source_hash": "/x" }), "source_hash", "unknown_key"),
        (json!({ "path": "b" }), "content", "missing"),
        (json!({ "path": "b", "content": null }), "content", "type"),
        (json!({ "content": "" }), "path", "missing"),
        (json!({ "path": "b", "content": 7 }), "content", "type"),
        (json!({ "path": "b", "content": "", "encoding": "Base64" }), "encoding", "enum"),
        (json!({ "path": "b", "content": "", "overwrite": "maybe" }), "overwrite", "type"),
        (
            json!({ "path": "b", "content": "", "vault_path": "/a", "vaultPath": "/b" }),
            "vault_path",
            "conflict",
        ),
        (json!({ "path": "b", "content": "", "vault_path": "" }), "vaultPath", "range"),
    ] {
        let facts = desk.fails("write_file", call.clone(), "invalid_arguments").await;
        let fields = [facts["field"].as_str().unwrap(), facts["problem"].as_str().unwrap()];
        assert!(fields[0].replace('_', "").eq_ignore_ascii_case(&field.replace('_', "")), "{call} {facts}");
        assert!(fields[1] == problem || field == "vaultPath", "{call} {facts}");
    }
}

#[tokio::test]
async fn without_source_folders_the_schema_knows_no_source() {
    let desk = Desk::of("").await;
    let tools = desk.client.tools().await;
    let tool = tools.iter().find(|tool| tool.name == "write_file").unwrap();
    let names: Vec<_> = tool.input_schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["path", "encoding", "overwrite", "expected_hash", "dry_run", "vault_path", "content"]);
    assert_eq!(tool.input_schema["required"], json!(["path", "content"]));
}

/// A desk with an `open` folder beside the vault from which files may be taken.
async fn with_sources() -> (Desk, std::path::PathBuf) {
    let vault = vault(A);
    let open = vault.path().parent().unwrap().join("open");
    std::fs::create_dir_all(open.join("sub")).unwrap();
    std::fs::write(open.join("in.pdf"), "hello\n").unwrap();
    std::fs::write(open.parent().unwrap().join("secret"), "s").unwrap();
    for (name, target) in [("link", "in.pdf"), ("out", "../secret"), ("lsub", "sub")] {
        std::os::unix::fs::symlink(target, open.join(name)).unwrap();
    }
    std::fs::write(open.join("sub/deep.bin"), "deep").unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, open.join("pipe"), fifo, mode, 0).unwrap();
    let listed = open.to_str().unwrap().to_owned();
    let desk = Desk::on(vault, |args| {
        args.files.write_file_source_paths = Some(listed);
        args.files.max_file_write_bytes = Some("8".into());
    })
    .await;
    (desk, open)
}

#[tokio::test]
async fn a_file_of_an_open_folder_is_a_source() {
    let (desk, open) = with_sources().await;
    let tools = desk.client.tools().await;
    let tool = tools.iter().find(|tool| tool.name == "write_file").unwrap();
    assert_eq!(tool.input_schema["required"], json!(["path"]));
    let before = stand(&open.join("in.pdf"));
    let source = open.join("in.pdf");
    let data =
        desk.ok("write_file", json!({ "path": "o/in.pdf", "source_path": source, "source_hash": H })).await;
    assert_eq!((&data["hash"], &data["currentSizeInBytes"]), (&json!(H), &json!(6)));
    assert_eq!(desk.bytes("o/in.pdf"), b"hello\n");
    let again = json!({ "path": "o/in.pdf", "sourcePath": source, "overwrite": true, "encoding": "text" });
    let data = desk.ok("write_file", again).await;
    assert_eq!(data["changed"], false);
    let dry = json!({ "path": "a.md", "source_path": open.join("sub/deep.bin"), "overwrite": true, "dry_run": true });
    let data = desk.ok("write_file", dry).await;
    assert_eq!((&data["hash"], &data["currentSizeInBytes"]), (&json!(hash("deep")), &json!(4)));
    assert_eq!(desk.bytes("a.md"), b"hello\n");
    assert_eq!(stand(&open.join("in.pdf")), before);
}

#[tokio::test]
async fn every_other_source_is_refused_with_its_reason() {
    let (desk, open) = with_sources().await;
    std::fs::write(open.join("large"), "nine bytes").unwrap();
    let at = |name: &str| open.join(name).to_str().unwrap().to_owned();
    for (source, reason) in [
        (at("../secret"), "source_forbidden"),
        (at("link"), "source_forbidden"),
        (at("out"), "source_forbidden"),
        (at("lsub/deep.bin"), "source_forbidden"),
        ("/etc/passwd".into(), "source_forbidden"),
        ("in.pdf".into(), "source_forbidden"),
        (String::new(), "source_forbidden"),
        (format!("{}x/in.pdf", open.display()), "source_forbidden"),
        (at("none"), "source_missing"),
        (at("in.pdf/x"), "source_missing"),
        (at("sub"), "source_not_a_file"),
        (at("pipe"), "source_not_a_file"),
        (at(""), "source_not_a_file"),
        (at("large"), "too_large"),
    ] {
        let call = json!({ "path": "n.md", "source_path": source });
        desk.fails("write_file", call, reason).await;
    }
    let call = json!({ "path": "n.md", "source_path": at("in.pdf"), "source_hash": Z });
    let facts = desk.fails("write_file", call, "source_mismatch").await;
    assert_eq!(facts["actualHash"], H);
    for hash in ["", "x", &H.to_uppercase()] {
        let call = json!({ "path": "../n.md", "source_path": "/etc/passwd", "source_hash": hash });
        desk.fails("write_file", call, "malformed_precondition").await;
    }
    for call in [
        json!({ "path": "n.md" }),
        json!({ "path": "n.md", "content": "", "source_path": at("in.pdf") }),
        json!({ "path": "n.md", "content": "", "source_hash": H }),
    ] {
        desk.fails("write_file", call, "invalid_arguments").await;
    }
    // The precondition and the path come first, what exists comes last.
    let stale =
        json!({ "path": "a.md", "source_path": "/etc/passwd", "overwrite": true, "expected_hash": Z });
    desk.fails("write_file", stale, "stale_precondition").await;
    desk.fails("write_file", json!({ "path": "../a", "source_path": "/etc/passwd" }), "path_traversal").await;
    desk.fails("write_file", json!({ "path": "a.md", "source_path": "/etc/passwd" }), "source_forbidden")
        .await;
    desk.fails("write_file", json!({ "path": "a.md", "source_path": at("in.pdf") }), "file_exists").await;
    let mismatched =
        json!({ "path": "new/n.md", "source_path": at("in.pdf"), "source_hash": Z, "dry_run": true });
    desk.fails("write_file", mismatched, "source_mismatch").await;
}

#[tokio::test]
async fn a_refused_call_removes_the_folders_it_made() {
    let (desk, open) = with_sources().await;
    let call = json!({ "path": "p/q/n.md", "source_path": open.join("in.pdf"), "source_hash": Z });
    desk.fails("write_file", call, "source_mismatch").await;
    assert!(!desk.has("p"));
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_creations_of_one_path_give_one_file() {
    for overwrite in [false, true] {
        let desk = Desk::of("").await;
        let calls = (0..20).map(|n| {
            let call = json!({ "path": "deep/er/one.md", "content": format!("{n}"), "encoding": "text", "overwrite": overwrite });
            desk.client.call("write_file", call)
        });
        let mut winners = Vec::new();
        for reply in futures_of(calls).await {
            match reply.error() {
                Some(error) => assert_eq!(error["data"]["reason"], "file_exists"),
                None => winners.push(reply.data()["hash"].as_str().unwrap().to_owned()),
            }
        }
        assert!(winners.contains(&hash(desk.bytes("deep/er/one.md"))));
        assert_eq!(winners.len(), if overwrite { 20 } else { 1 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guarded_replacements_of_one_hash_let_one_through() {
    let desk = Desk::of("//- a.md\nhello\n").await;
    let calls = (0..12)
        .map(|n| desk.client.call("write_file", bound("a.md", &format!("writer {n}"), &hash("hello\n"))));
    let mut winners = 0;
    for reply in futures_of(calls).await {
        match reply.error() {
            None => winners += 1,
            Some(error) => {
                let reason = error["data"]["reason"].as_str().unwrap();
                assert!(["stale_precondition", "concurrent_write"].contains(&reason), "{reason}");
            }
        }
    }
    assert_eq!(winners, 1);
}

#[test]
fn a_file_at_the_cap_passes_as_base64_over_the_pipe() {
    let vault = vault("");
    let era = Era::Modern;
    let path = vault.path();
    let (mut server, _) = Process::open(era, &[("OBSIDIAN_VAULT_PATH", path.to_str().unwrap())]);
    let bytes: Vec<u8> = (0..26_214_400_u32).map(|n| n.to_le_bytes()[(n % 3) as usize]).collect();
    let arguments = json!({ "path": "cap.bin", "content": b64(&bytes) });
    let answer =
        server.ask(&request(era, 1, "tools/call", json!({ "name": "write_file", "arguments": arguments })));
    assert_eq!(answer["result"]["structuredContent"]["hash"], hash(&bytes));
    assert!(std::fs::read(path.join("cap.bin")).unwrap() == bytes);
}

#[test]
fn a_lone_surrogate_is_no_json_and_nothing_is_written() {
    let vault = vault("");
    for era in ERAS {
        let path = vault.path();
        let (mut server, _) = Process::open(era, &[("OBSIDIAN_VAULT_PATH", path.to_str().unwrap())]);
        let call = request(
            era,
            7,
            "tools/call",
            json!({ "name": "write_file", "arguments": text("n.md", "SURROGATE") }),
        );
        server.send(&call.to_string().replace("SURROGATE", "\\ud800"));
        assert_eq!(server.receive()["error"]["code"], -32700);
        assert!(!path.join("n.md").exists());
    }
}

/// Ten mebibytes of a letter that JSON spells with six is the longest text that is sure to pass.
#[test]
fn a_text_of_ten_mebibytes_passes_however_json_spells_it() {
    let vault = vault("");
    let era = Era::Modern;
    let path = vault.path();
    let (mut server, _) = Process::open(era, &[("OBSIDIAN_VAULT_PATH", path.to_str().unwrap())]);
    let call =
        request(era, 1, "tools/call", json!({ "name": "write_file", "arguments": text("long.txt", "LONG") }));
    server.send(&call.to_string().replace("LONG", &"\\u0001".repeat(10 << 20)));
    assert_eq!(server.receive()["result"]["structuredContent"]["currentSizeInBytes"], 10 << 20);
    assert!(std::fs::read(path.join("long.txt")).unwrap().iter().all(|byte| *byte == 1));
}

#[tokio::test]
async fn odd_notes_are_read_and_replaced_byte_by_byte() {
    let desk = Desk::of("").await;
    let notes: [(&str, &[u8]); 10] = [
        ("bom.md", b"\xef\xbb\xbf# Title\n"),
        ("crlf.md", b"a\r\nb\r\n"),
        ("cr.md", b"a\rb"),
        ("mixed.md", b"a\nb\r\nc\rd"),
        ("no newline.md", b"x"),
        ("Re\u{301}sume\u{301}.md", "nfd \u{65}\u{301}".as_bytes()),
        ("\u{1f468}\u{200d}\u{1f469}.md", "\u{202e}rtl".as_bytes()),
        ("spa ces/  two  .md", b"---\nkey: [\n---\n"),
        ("nul.md", b"a\0b"),
        ("latin1.md", b"caf\xe9"),
    ];
    for (path, bytes) in notes {
        desk.vault.put(path, bytes);
        let read = desk.ok("read_file", json!({ "path": path, "encoding": "base64" })).await;
        assert_eq!((&read["content"], &read["hash"]), (&json!(b64(bytes)), &json!(hash(bytes))));
        let call = json!({ "path": path, "content": read["content"], "overwrite": true, "expected_hash": read["hash"] });
        assert_eq!(desk.ok("write_file", call).await["changed"], false);
        let longer = [bytes, b"!"].concat();
        let call = json!({ "path": path, "content": b64(&longer), "overwrite": true, "expected_hash": read["hash"] });
        assert_eq!(desk.ok("write_file", call).await["path"], path);
        assert_eq!(desk.bytes(path), longer);
    }
}

#[tokio::test]
async fn an_absolute_path_behind_the_vaults_own_link_has_its_relative_form_too() {
    let vault = vault(A);
    let alias = vault.path().parent().unwrap().join("alias");
    std::os::unix::fs::symlink("vault", &alias).unwrap();
    let opened = alias.to_str().unwrap().to_owned();
    let desk = Desk::on(vault, |args| args.vaults.vault = Some(opened)).await;
    for root in [alias, desk.vault.path().canonicalize().unwrap()] {
        let facts = desk
            .fails("write_file", text(root.join("Sub/n.md").to_str().unwrap(), "x"), "path_absolute")
            .await;
        assert_eq!(facts["relativePath"], "Sub/n.md");
    }
}

#[tokio::test]
async fn a_refusal_of_an_endless_path_is_short() {
    let desk = Desk::of(A).await;
    let long = "x".repeat(200_000);
    for path in
        [long.clone(), format!("../{long}"), format!("/{long}"), format!(".{long}"), format!("{long}\0")]
    {
        for (tool, call) in [
            ("write_file", text(&path, "x")),
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "", "expected_hash": H })),
            ("read_file", json!({ "path": "a.md", "vaultPath": path })),
        ] {
            let reply = desk.client.call(tool, call).await;
            let length = json!(reply.0).to_string().len();
            assert!(length < 100_000, "{length} bytes: {}", &reply.text()[..100]);
        }
    }
}

#[tokio::test]
async fn other_names_of_a_replaced_file_are_told_to_keep_the_old_bytes() {
    let desk = Desk::of(A).await;
    std::fs::hard_link(desk.vault.path().join("a.md"), desk.vault.path().join("b.md")).unwrap();
    let data = desk.ok("write_file", bound("a.md", "new", H)).await;
    assert_eq!(data["warnings"], json!(["hard_links_broken: 1"]));
    assert_eq!((desk.bytes("a.md"), desk.bytes("b.md")), (b"new".to_vec(), b"hello\n".to_vec()));
}
