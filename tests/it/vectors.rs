//! The vectors of the write path that concern creating and overwriting, as data.

use serde_json::{Value, json};

use crate::tools::{Desk, H, Z, b64, hash, link, snapshot, stand};

const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ONE: &str = "sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd";

/// A call by its path, hash, content and whether it may overwrite; what comes of it, and the facts that are told.
struct Vector {
    call: Value,
    reason: &'static str,
    facts: Value,
}

fn create(path: &str) -> Value {
    json!({ "path": path, "content": "new", "encoding": "text" })
}

fn create_with(path: &str, hash: &str) -> Value {
    json!({ "path": path, "content": "new", "encoding": "text", "expected_hash": hash })
}

fn overwrite(path: &str, content: &str, hash: Option<&str>) -> Value {
    json!({ "path": path, "content": content, "encoding": "text", "overwrite": true, "expected_hash": hash })
}

fn refusals() -> Vec<Vector> {
    let bare = &H["sha256:".len()..];
    let upper = H.replace(bare, &bare.to_uppercase());
    let mut vectors: Vec<(Value, &'static str, Value)> = vec![
        (
            create("a.md"),
            "file_exists",
            json!({ "currentHash": H, "existingPath": "a.md", "sizeInBytes": 6 }),
        ),
        (create("A.md"), "case_variant_exists", json!({ "existingPath": "a.md" })),
        (overwrite("A.md", "x", Some(H)), "case_variant_exists", json!({ "existingPath": "a.md" })),
        (create("sub/x.md"), "case_variant_exists", json!({ "existingPath": "Sub" })),
        (overwrite("b.md", "x", Some(H)), "no_incumbent", json!({ "path": "b.md" })),
        (overwrite("a.md", "hello\n", Some(Z)), "stale_precondition", json!({ "currentHash": H })),
        (overwrite("a.md", "A", Some(EMPTY)), "stale_precondition", json!({ "currentSizeInBytes": 6 })),
        (
            json!({ "path": "a.md", "content": "!", "overwrite": true, "expected_hash": Z }),
            "stale_precondition",
            json!({ "currentHash": H }),
        ),
        (overwrite("l.md", "x", Some(H)), "symlink_refused", json!({ "target": "a.md" })),
        (overwrite("l.md", "x", Some(Z)), "symlink_refused", json!({ "target": "a.md" })),
        (overwrite("l.md", "x", None), "symlink_refused", json!({ "target": "a.md" })),
        (create("pub/x.md"), "hidden_path", json!({ "path": "pub/x.md" })),
        (create("out/x.md"), "symlink_escapes", json!({ "problem": "outside" })),
        (create("caf\u{e9}.md"), "file_exists", json!({ "existingPath": "cafe\u{301}.md" })),
    ];
    for path in ["b.md", "a.md", "../x"] {
        vectors.push((create_with(path, H), "no_incumbent", json!({ "path": path })));
        for malformed in [bare, &upper, ""] {
            vectors.push((create_with(path, malformed), "malformed_precondition", json!({})));
        }
    }
    vectors.into_iter().map(|(call, reason, facts)| Vector { call, reason, facts }).collect()
}

async fn desk() -> Desk {
    let desk = Desk::of("//- a.md\nhello\n//- Sub/\n//- Notes/\n//- .obsidian/\n").await;
    desk.vault.put("cafe\u{301}.md", b"x");
    link(&desk.vault, "l.md", "a.md");
    link(&desk.vault, "pub", ".obsidian");
    link(&desk.vault, "out", "/etc");
    link(&desk.vault, "in", desk.vault.path().join("Notes"));
    desk
}

#[tokio::test]
async fn every_refusal_has_its_reason_and_facts_and_writes_nothing() {
    let desk = desk().await;
    for Vector { call, reason, facts } in refusals() {
        let told = desk.fails("write_file", call.clone(), reason).await;
        for (fact, value) in facts.as_object().unwrap() {
            assert_eq!(told[fact], *value, "{call} {fact}");
        }
    }
}

#[tokio::test]
async fn what_is_there_already_stays_as_it_is() {
    let desk = desk().await;
    let before = stand(&desk.vault.path().join("a.md"));
    let data = desk.ok("write_file", overwrite("a.md", "hello\n", Some(H))).await;
    assert_eq!((&data["changed"], data.get("durable")), (&json!(false), None));
    assert_eq!(stand(&desk.vault.path().join("a.md")), before);
}

#[tokio::test]
async fn a_bound_overwrite_tells_both_hashes_and_sizes() {
    let desk = desk().await;
    let data = desk.ok("write_file", overwrite("a.md", "A", Some(H))).await;
    assert_eq!((&data["hash"], &data["previousHash"]), (&json!(ONE), &json!(H)));
    assert_eq!((&data["previousSizeInBytes"], &data["currentSizeInBytes"]), (&json!(6), &json!(1)));
    let data = desk.ok("write_file", overwrite("a.md", "", Some(ONE))).await;
    assert_eq!(data["hash"], EMPTY);
}

#[tokio::test]
async fn an_absolute_link_to_a_folder_of_the_vault_is_written_through() {
    let desk = desk().await;
    let data = desk.ok("write_file", create("in/x.md")).await;
    assert_eq!((&data["path"], &data["created"]), (&json!("in/x.md"), &json!(true)));
    assert_eq!(desk.bytes("Notes/x.md"), b"new");
}

#[tokio::test]
async fn where_preconditions_are_required_creation_is_exempt() {
    let desk = Desk::with("//- a.md\nhello\n", |args| {
        args.files.write_precondition_required = Some("true".into());
        args.files.max_hash_bytes = Some("6".into());
    })
    .await;
    desk.vault.put("over.bin", b"seven b");
    assert_eq!(desk.ok("write_file", overwrite("b.md", "x", None)).await["created"], true);
    let facts = desk.fails("write_file", overwrite("a.md", "hello\n", None), "precondition_required").await;
    assert_eq!(facts["currentHash"], H);
    for hash in [None, Some(H)] {
        let facts =
            desk.fails("write_file", overwrite("over.bin", "x", hash), "precondition_unavailable").await;
        assert_eq!(facts["setting"], "MAX_HASH_BYTES");
    }
}

#[tokio::test]
async fn a_sparse_file_of_two_gibibytes_is_never_hashed() {
    let desk = Desk::of("").await;
    let file = std::fs::File::create(desk.vault.path().join("huge.bin")).unwrap();
    file.set_len(2 << 30).unwrap();
    let start = std::time::Instant::now();
    let call = overwrite("huge.bin", "x", Some(H));
    let reply = desk.client.call("write_file", call).await;
    let facts = reply.refused("precondition_unavailable");
    assert_eq!((&facts["sizeInBytes"], &facts["capInBytes"]), (&json!(2_u64 << 30), &json!(1 << 30)));
    let data = desk.ok("write_file", overwrite("huge.bin", "x", None)).await;
    assert_eq!((&data["previousHashOmitted"], data.get("previousHash")), (&json!("over_cap"), None));
    assert_eq!((&data["previousSizeInBytes"], &data["hash"]), (&json!(2_u64 << 30), &json!(hash("x"))));
    assert!(start.elapsed().as_secs() < 5);
}

#[tokio::test]
async fn without_unnamed_files_a_create_is_refused_and_an_overwrite_tells_how_it_staged() {
    // The tiers that a file system without unnamed files leaves.
    let tiers = Some("T2,C1".to_owned());
    let desk = Desk::with("", |args| args.files.vault_max_tier.clone_from(&tiers)).await;
    let facts = desk.fails("write_file", create("p/q/r/x.md"), "staging_unsupported").await;
    assert_eq!(facts["setting"], "VAULT_ALLOW_NAMED_STAGING_FALLBACK");
    assert!(!desk.has("p"));
    let data = desk.ok("write_file", overwrite("p/q/r/x.md", "x", None)).await;
    assert_eq!((&data["created"], &data["warnings"]), (&json!(true), &json!(["named_staging_used"])));
    assert_eq!(data["createdFolders"], json!(["p", "p/q", "p/q/r"]));

    let allowed = Desk::with("", |args| {
        args.files.vault_max_tier = tiers;
        args.files.vault_allow_named_staging_fallback = Some("true".into());
    })
    .await;
    let data = allowed.ok("write_file", create("x.md")).await;
    assert_eq!(data["warnings"], json!(["named_staging_used"]));
    allowed.fails("write_file", create("x.md"), "file_exists").await;
    let visible = snapshot(&allowed.vault.path()).into_keys().filter(|path| {
        let below = path.strip_prefix(allowed.vault.path()).unwrap();
        !below.to_string_lossy().starts_with('.')
    });
    assert_eq!(visible.count(), 2, "the root and the file");
}

#[tokio::test]
async fn a_fifo_is_refused_within_a_tenth_of_a_second() {
    let desk = Desk::of("").await;
    crate::tools::fifo(&desk.vault, "a.md");
    let start = std::time::Instant::now();
    let call = json!({ "path": "a.md", "content": b64("x"), "overwrite": true, "expected_hash": H });
    desk.client.call("write_file", call).await.refused("not_a_file");
    assert!(start.elapsed().as_millis() < 1000);
}
