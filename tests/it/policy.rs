//! Path policy through `read_file` and `write_file`: the truth table, spellings, and that the deny list is never told.

use serde_json::{Value, json};

use crate::{
    client::{Client, Era},
    tools::{Desk, link},
    vault::vault,
};

/// Read list, write list, deny list, read-only; then read/write of each path of `PATHS`.
type Row = (Option<&'static str>, Option<&'static str>, Option<&'static str>, bool, [&'static str; 4]);

const PATHS: [&str; 4] = ["a/x", "b/x", "c/x", "a/s/x"];

const TABLE: &[Row] = &[
    (None, None, None, false, ["ok/ok", "ok/ok", "ok/ok", "ok/ok"]),
    (None, None, None, true, ["ok/RO", "ok/RO", "ok/RO", "ok/RO"]),
    (Some("a"), None, None, false, ["ok/ok", "R/R", "R/R", "ok/ok"]),
    (None, Some("b"), None, false, ["ok/W", "ok/ok", "ok/W", "ok/W"]),
    (Some("a"), Some("b"), None, false, ["ok/W", "ok/ok", "R/W", "ok/W"]),
    (Some("a"), Some("b"), None, true, ["ok/RO", "ok/RO", "R/RO", "ok/RO"]),
    (None, None, Some("a/s"), false, ["ok/ok", "ok/ok", "ok/ok", "D/D"]),
    (Some("a"), None, Some("a/s"), false, ["ok/ok", "R/R", "R/R", "D/D"]),
    (Some("a/s"), None, Some("a"), false, ["R/R", "R/R", "R/R", "D/D"]),
    (Some("a"), Some("a/s"), Some("a/s"), false, ["ok/W", "R/W", "R/W", "D/D"]),
    (Some("a"), Some("b"), Some("b"), false, ["ok/W", "D/D", "R/W", "ok/W"]),
];

const FILES: &str = "//- a/x\n1\n//- b/x\n2\n//- c/x\n3\n//- a/s/x\n4\n";

async fn desk(text: &str, row: &Row) -> Desk {
    let (read, write, deny, read_only, _) = row;
    Desk::with(text, |args| {
        args.vaults.read_paths = read.map(str::to_owned);
        args.vaults.write_paths = write.map(str::to_owned);
        args.vaults.deny_paths = deny.map(str::to_owned);
        args.vaults.read_only = Some(read_only.to_string());
    })
    .await
}

async fn denying(text: &str, deny: &str) -> Desk {
    Desk::with(text, |args| args.vaults.deny_paths = Some(deny.to_owned())).await
}

fn overwrite(path: &str) -> Value {
    json!({ "path": path, "content": "new", "encoding": "text", "overwrite": true })
}

fn verdict(reply: &crate::client::Reply) -> &'static str {
    let Some(error) = reply.error() else { return "ok" };
    if error["data"]["reason"] == "tool_disabled" {
        return "RO";
    }
    assert_eq!((&error["data"]["reason"], &error["code"]), (&json!("path_forbidden"), &json!(-32005)));
    match error["data"]["subreason"].as_str().unwrap() {
        "outside_read_paths" => "R",
        "outside_write_paths" => "W",
        "denied_path" => "D",
        "read_only_mode" => "RO",
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn reads_and_writes_are_as_the_truth_table_says_in_every_spelling() {
    for row in TABLE {
        let desk = desk(FILES, row).await;
        for (path, expected) in PATHS.iter().zip(row.4) {
            for spelling in [(*path).to_owned(), path.replace('/', "\\"), path.replace('/', "//")] {
                let read = desk.client.call("read_file", json!({ "path": spelling })).await;
                let write = desk.client.call("write_file", overwrite(&spelling)).await;
                assert_eq!(format!("{}/{}", verdict(&read), verdict(&write)), expected, "{row:?} {spelling}");
            }
            // A spelling of another case is judged alike; the write that passes meets the twin on disk.
            let upper = path.to_uppercase();
            let read = desk.client.call("read_file", json!({ "path": upper })).await;
            assert_eq!(verdict(&read), expected.split_once('/').unwrap().0, "{row:?} {upper}");
            let write = desk.client.call("write_file", overwrite(&upper)).await;
            match expected.split_once('/').unwrap().1 {
                "ok" => drop(write.refused("case_variant_exists").clone()),
                refused => assert_eq!(verdict(&write), refused, "{row:?} {upper}"),
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_tells_its_list_and_the_callers_own_spelling() {
    let row = (Some("Projects/Open, Daily"), Some("Inbox"), Some("Daily/secret"), false, [""; 4]);
    let desk = desk("", &row).await;
    for path in ["other\\x.md", "other//x.md", "Other/x.md"] {
        let facts = desk.fails("read_file", json!({ "path": path }), "path_forbidden").await;
        assert_eq!((&facts["path"], &facts["op"]), (&json!(path), &json!("read")));
        assert_eq!(facts["activeScope"], json!(["Projects/Open", "Daily", "Inbox"]));
        let facts = desk.fails("write_file", overwrite(path), "path_forbidden").await;
        assert_eq!((&facts["path"], &facts["op"]), (&json!(path), &json!("write")));
        assert_eq!(facts["activeScope"], json!(["Inbox"]));
        assert!(facts["recovery"]["hint"].as_str().unwrap().contains("Inbox"));
    }
    let facts = desk.fails("read_file", json!({ "path": "Daily/secret/x.md" }), "path_forbidden").await;
    assert_eq!((&facts["subreason"], facts.get("activeScope")), (&json!("denied_path"), None));
    assert!(facts["recovery"]["hint"].as_str().unwrap().contains("OBSIDIAN_DENY_PATHS"));
    // Outside an allow list a denied path is outside, so that probing maps nothing.
    let facts = desk.fails("write_file", overwrite("Daily/secret/x.md"), "path_forbidden").await;
    assert_eq!(facts["subreason"], "outside_write_paths");
}

#[tokio::test]
async fn an_entry_matches_whole_names_in_any_case_and_normal_form() {
    let desk = denying(
        "//- pub/x.md\n1\n//- public/x.md\n2\n//- Notes/one.md\n3\n",
        "PUB, notes/ONE.md, Cafe\u{301}",
    )
    .await;
    desk.vault.put("cafe\u{301}/x.md", b"4");
    desk.ok("read_file", json!({ "path": "public/x.md" })).await;
    for path in [
        "pub/x.md",
        "Pub//x.md",
        "pub\\x.md",
        "pub",
        "Notes/one.md",
        "notes/One.md",
        "caf\u{e9}/x.md",
        "CAFE\u{301}/x.md",
    ] {
        for (tool, call) in [("read_file", json!({ "path": path })), ("write_file", overwrite(path))] {
            let facts = desk.fails(tool, call, "path_forbidden").await;
            assert_eq!(facts["subreason"], "denied_path", "{path}");
        }
    }
}

#[tokio::test]
async fn policy_is_judged_where_links_lead_and_names_the_link() {
    let desk = denying("//- secret/note.md\ns\n//- a/note.md\na\n", "secret").await;
    for (name, target) in [("open", "secret"), ("a/up", "../secret"), ("file.md", "secret/note.md")] {
        link(&desk.vault, name, target);
    }
    link(&desk.vault, "abs", desk.vault.path().join("secret"));
    link(&desk.vault, "twice", "open");
    for path in ["open/note.md", "a/up/note.md", "abs/note.md", "twice/note.md", "OPEN/note.md", "file.md"] {
        let facts = desk.fails("read_file", json!({ "path": path }), "path_forbidden").await;
        assert_eq!((&facts["path"], &facts["subreason"]), (&json!(path), &json!("denied_path")));
    }
    for path in ["open/note.md", "a/up/new.md", "abs/deep/new.md", "twice/note.md"] {
        desk.fails("write_file", overwrite(path), "path_forbidden").await;
    }
}

/// Names that no reply may hold in any form: they stand in the deny list, or in what it withholds.
const MARKERS: [&str; 4] = ["zebra", "quagga", "okapi", "tapir"];

#[tokio::test]
async fn nothing_of_a_denied_folder_is_told_in_any_byte_of_any_reply() {
    let desk = denying(
        "//- Notes/Garden.md\ng\n//- zebra/quagga.md\nsecret\n//- zebra/sub/tapir.md\nsecret\n//- Notes/okapi.md\nsecret\n",
        "zebra, Notes/okapi.md, Notes/tapir",
    )
    .await;
    link(&desk.vault, "way", "zebra");
    link(&desk.vault, "Notes/inner", "../zebra/sub");
    link(&desk.vault, "final.md", "zebra/quagga.md");
    link(&desk.vault, "absolute.md", desk.vault.path().join("zebra/quagga.md"));
    link(&desk.vault, "through.md", "way/quagga.md");
    link(&desk.vault, "dangling.md", "zebra/none.md");
    link(&desk.vault, "stale.md", "Notes/okapi.md");
    for path in [
        "Notes/okap.md",
        "Notes/okapii.md",
        "Notes/0kapi.md",
        "zebr/quagg.md",
        "zebr",
        "quagg.md",
        "okap.md",
        "Notes/tapi/x",
        "way/quagg.md",
        "way/Quagg.MD",
        "way/none.md",
        "way/sub/tapi.md",
        "WAY/quagg.md",
        "way/sub",
        "Notes/inner/tapi.md",
        "final.md",
        "absolute.md",
        "through.md",
        "dangling.md",
        "stale.md",
        "final.md/x",
        "way/sub/tapi/x.md",
        "Final.md",
        "STALE.md",
        "Notes/INNER/tapi.md",
        "finale.md",
    ] {
        for (tool, call) in [
            ("read_file", json!({ "path": path })),
            ("read_file", json!({ "path": path, "hash_only": true })),
            ("write_file", json!({ "path": path, "content": "", "dry_run": true })),
            (
                "write_file",
                json!({ "path": path, "content": "x", "encoding": "text", "overwrite": true, "dry_run": true }),
            ),
        ] {
            let reply = desk.client.call(tool, call).await;
            let mut said = json!(reply.0).to_string().to_lowercase();
            if MARKERS.iter().any(|marker| path.contains(marker)) {
                said = said.replace(&path.to_lowercase(), "");
            }
            for marker in MARKERS {
                assert!(!said.contains(marker), "{tool} {path} tells {marker}: {said}");
            }
            assert!(!said.contains("secret"), "{tool} {path}: {said}");
        }
    }
}

#[tokio::test]
async fn behind_a_link_a_missing_name_is_refused_like_one_that_is_there() {
    let desk =
        denying("//- secret/note.md\ns\n//- secret/Two.md\n1\n//- secret/sub/x.md\nx\n", "secret").await;
    link(&desk.vault, "open", "secret");
    let mut said = Vec::new();
    for path in
        ["open/note.md", "open/none.md", "open/NOTE.md", "open/two.md", "OPEN/none.md", "OPEN/note.md"]
    {
        let facts = desk.fails("read_file", json!({ "path": path }), "path_forbidden").await;
        said.push(facts.to_string().replace(path, "PATH"));
    }
    said.dedup();
    assert_eq!(said.len(), 1, "{said:?}");
}

#[tokio::test]
async fn the_suggestions_of_a_read_list_stay_in_it() {
    let row = (Some("a"), None, None, false, [""; 4]);
    let desk = desk("//- a/note.md\n1\n//- a/deep/n.md\n2\n//- noted.md\n3\n//- b/note.md\n4\n", &row).await;
    let facts = desk.fails("read_file", json!({ "path": "a/not.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!(["a/note.md"]));
    // The folder is not there: the names beside it lie outside the list.
    let facts = desk.fails("read_file", json!({ "path": "a/none/x.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!([]));
    let absolute = desk.vault.path().join("b/note.md");
    let facts = desk.fails("read_file", json!({ "path": absolute }), "path_absolute").await;
    assert_eq!(facts.get("relativePath"), None);
    let absolute = desk.vault.path().join("a/note.md");
    let facts = desk.fails("read_file", json!({ "path": absolute }), "path_absolute").await;
    assert_eq!(facts["relativePath"], "a/note.md");
}

#[tokio::test]
async fn a_blocked_vault_inside_an_admitted_one_is_withheld_from_it() {
    let outer = vault("//- Team/plan.md\np\n//- Team/okapi/diary.md\nsecret\n//- n.md\nn\n");
    link(&outer, "way", "Team/okapi");
    let blocked = outer.path().join("Team/okapi").to_str().unwrap().to_owned();
    let desk = Desk::on(outer, |args| args.vaults.vault_deny = Some(blocked.clone())).await;
    desk.ok("read_file", json!({ "path": "Team/plan.md" })).await;
    for path in
        ["Team/okapi/diary.md", "Team/OKAPI/diary.md", "team/okapi/none.md", "way/diary.md", "way/none.md"]
    {
        for (tool, call) in [("read_file", json!({ "path": path })), ("write_file", overwrite(path))] {
            let facts = desk.fails(tool, call, "path_forbidden").await;
            assert_eq!((&facts["subreason"], facts.get("activeScope")), (&json!("denied_path"), None));
        }
    }
    for path in ["Team/okap", "Team/oka.md", "Tea/okapi.md"] {
        let reply = desk.client.call("read_file", json!({ "path": path })).await;
        assert!(!json!(reply.0).to_string().replace(path, "").contains("okapi"), "{}", reply.text());
    }
    let reply = desk.client.call("read_file", json!({ "path": "diary.md", "vaultPath": blocked })).await;
    reply.refused("vault_forbidden");
}

#[tokio::test]
async fn what_the_server_says_of_itself_names_no_denied_path() {
    let vault = vault(FILES);
    let state = crate::tools::state(&vault, |args| args.vaults.deny_paths = Some("okapi/zebra".into()));
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::open(state.clone(), era).await;
        let said = format!("{:?} {}", client.server(), json!(client.tools().await));
        assert!(!said.contains("okapi") && !said.contains("zebra"), "{said}");
    }
}
