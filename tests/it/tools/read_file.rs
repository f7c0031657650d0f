//! `read_file`, line by line of its specification.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use serde_json::{Value, json};

use super::{Desk, H, b64, fifo, hash, link};
use crate::{
    client::{Client, ERAS, Era, Process, Reply, request},
    vault::vault,
};

/// The smallest PNG there is, nearly.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const A: &str = "//- a.md\nhello\n";

impl Desk {
    async fn read(&self, arguments: Value) -> Value {
        self.ok("read_file", arguments).await
    }

    async fn refuses(&self, arguments: Value, reason: &str) -> Value {
        self.fails("read_file", arguments, reason).await
    }

    /// Header and payload of a read.
    async fn blocks(&self, arguments: Value) -> Vec<String> {
        texts(&self.client.call("read_file", arguments).await)
    }
}

fn texts(reply: &Reply) -> Vec<String> {
    reply.0.content.iter().filter_map(|block| block.as_text()).map(|block| block.text.clone()).collect()
}

#[tokio::test]
async fn a_whole_text_is_header_and_payload_in_both_eras() {
    let vault = vault("//- Notes/a.md\nhello\n");
    for era in ERAS {
        let client = Client::open(super::state(&vault, |_| {}), era).await;
        let reply = client.call("read_file", json!({ "path": "Notes/a.md" })).await;
        let data = reply.data();
        let modified = data["modified"].as_str().unwrap();
        assert_eq!(
            texts(&reply),
            [
                format!(
                    "path: \"Notes/a.md\"\nencoding: text\nmime: text/markdown\nbytes: 6\ncontent_hash: {H}\n\
                     modified: {modified}\nwindow: 0-6 of 6 chars"
                ),
                "hello\n".to_owned()
            ]
        );
        let expected = json!({
            "path": "Notes/a.md", "kind": "text", "encoding": "text", "mime": "text/markdown", "sizeInBytes": 6,
            "hash": H, "offset": 0, "returned": 6, "total": 6, "unit": "chars", "truncated": false,
            "modified": modified, "content": "hello\n",
        });
        assert_eq!(*data, expected);
    }
}

#[tokio::test]
async fn the_hash_alone_costs_no_content() {
    let desk = Desk::of(A).await;
    for encoding in ["auto", "text", "base64"] {
        let call = json!({ "path": "a.md", "hash_only": true, "encoding": encoding });
        let reply = desk.client.call("read_file", call).await;
        let modified = reply.data()["modified"].clone();
        let expected = json!({
            "path": "a.md", "kind": "hash", "mime": "text/markdown", "sizeInBytes": 6, "hash": H,
            "truncated": false, "modified": modified,
        });
        assert_eq!(*reply.data(), expected);
        assert_eq!(texts(&reply).len(), 1);
        assert!(!reply.text().contains("hello"));
    }
    for window in [json!({ "offset": 1 }), json!({ "limit": 5 }), json!({ "offset": 0, "limit": 1 })] {
        let mut call = json!({ "path": "../x", "hashOnly": true });
        call.as_object_mut().unwrap().extend(window.as_object().unwrap().clone());
        desk.refuses(call, "invalid_arguments").await;
    }
    desk.read(json!({ "path": "a.md", "hash_only": true, "offset": 0, "limit": null })).await;
}

#[tokio::test]
async fn auto_goes_by_the_bytes_and_not_by_the_name() {
    let desk = Desk::with(&format!("//- i.png base64\n{PNG}\n//- renamed.md base64\n{PNG}\n"), |args| {
        args.files.max_image_bytes = Some("80".into());
    })
    .await;
    desk.vault.put("fake.png", b"not an image");
    desk.vault.put("v.svg", b"<svg/>");
    desk.vault.put("nul.txt", b"a\0b");
    desk.vault.put("odd.bin", b"a\xff");
    desk.vault.put("empty.png", b"");
    desk.vault.put("g.gif", b"GIF89a rest");
    desk.vault.put("j", b"\xff\xd8\xff\xe0 rest");
    desk.vault.put("w.webp", b"RIFF\0\0\0\0WEBPVP8 ");
    desk.vault.put("large.gif", &[&b"GIF89a"[..], &[1; 80]].concat());
    for (path, kind, mime) in [
        ("i.png", "image", "image/png"),
        ("renamed.md", "image", "image/png"),
        ("g.gif", "image", "image/gif"),
        ("j", "image", "image/jpeg"),
        ("w.webp", "image", "image/webp"),
        ("fake.png", "text", "image/png"),
        ("v.svg", "text", "image/svg+xml"),
        ("nul.txt", "base64", "text/plain"),
        ("odd.bin", "base64", "application/octet-stream"),
        ("empty.png", "text", "image/png"),
        ("large.gif", "text", "image/gif"),
    ] {
        let reply = desk.client.call("read_file", json!({ "path": path })).await;
        let data = reply.data();
        assert_eq!((&data["kind"], &data["mime"]), (&json!(kind), &json!(mime)), "{path}");
        assert_eq!(data["hash"], hash(desk.bytes(path)), "{path}");
        assert_eq!(reply.0.content.len(), 2);
        if kind == "image" {
            let image = reply.0.content[1].as_image().unwrap();
            assert_eq!((&image.data, &*image.mime_type), (&b64(desk.bytes(path)), mime));
            assert_eq!((data.get("content"), data.get("encoding"), data.get("total")), (None, None, None));
        }
    }
    for window in [json!({ "path": "i.png", "offset": 1 }), json!({ "path": "i.png", "limit": 3 })] {
        let facts = desk.refuses(window, "invalid_arguments").await;
        assert!(facts.to_string().contains("encoding"));
    }
    desk.read(json!({ "path": "i.png", "encoding": "base64", "limit": 3 })).await;
    let facts = desk.refuses(json!({ "path": "i.png", "encoding": "text" }), "not_utf8").await;
    assert_eq!((&facts["offsetInBytes"], &facts["hash"]), (&json!(0), &json!(hash(desk.bytes("i.png")))));
}

#[tokio::test]
async fn text_is_given_verbatim_and_an_empty_file_is_an_empty_block() {
    let desk = Desk::of("").await;
    for text in ["", "\u{feff}a\r\nb\rc\n", "nul \0 \u{1}\u{1b}[31m", "\u{2028}\u{85}", "😀"] {
        desk.vault.put("t.md", text.as_bytes());
        let call = json!({ "path": "t.md", "encoding": "text" });
        let data = desk.read(call.clone()).await;
        assert_eq!(data["content"], text);
        assert_eq!(data["total"], text.chars().count());
        assert_eq!(desk.blocks(call).await[1], text);
    }
}

#[tokio::test]
async fn what_is_not_utf8_is_told_with_its_place_and_hash_in_the_callers_spelling() {
    let desk = Desk::of("").await;
    desk.vault.put("D/bad.md", b"good \xff bad");
    let facts = desk.refuses(json!({ "path": "D/bad.md", "encoding": "text" }), "not_utf8").await;
    assert_eq!(facts["offsetInBytes"], 5);
    assert_eq!(facts["hash"], hash(b"good \xff bad"));
    let facts = desk.refuses(json!({ "path": "d/BAD.md", "encoding": "text" }), "not_utf8").await;
    assert_eq!(facts["path"], "d/BAD.md");
}

#[tokio::test]
async fn pages_of_text_count_characters_and_join() {
    let text = "añ😀\u{feff}x\r\n".repeat(500);
    let desk = Desk::with("", |args| args.files.max_response_chars = Some("1000".into())).await;
    desk.vault.put("t.md", text.as_bytes());
    let (mut offset, mut joined) = (0, String::new());
    loop {
        let reply = desk.client.call("read_file", json!({ "path": "t.md", "offset": offset })).await;
        let data = reply.data();
        joined.push_str(data["content"].as_str().unwrap());
        assert_eq!(data["total"], 3500);
        if data["truncated"] == false {
            assert_eq!((&data["hash"], data.get("nextOffset")), (&json!(hash(&text)), None));
            break;
        }
        assert_eq!(data["hashOmitted"], "cut");
        offset = data["nextOffset"].as_u64().unwrap();
        assert!(texts(&reply)[0].contains(&format!("\nnext: offset={offset}")));
    }
    assert_eq!(joined, text);
    let data = desk.read(json!({ "path": "t.md", "limit": 2 })).await;
    assert_eq!((&data["content"], &data["returned"]), (&json!("añ"), &json!(2)));
    // A limit can only lower the window of text.
    assert_eq!(desk.read(json!({ "path": "t.md", "limit": 2000 })).await["returned"], 1000);
}

#[tokio::test]
async fn pages_of_bytes_join_at_multiples_of_three() {
    let bytes: Vec<u8> = (0..4000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let desk = Desk::with("", |args| {
        args.files.max_response_chars = Some("1001".into());
        args.files.max_file_read_bytes = Some("1000".into());
    })
    .await;
    desk.vault.put("b.bin", &bytes);
    // 1002 is a multiple of three over the most that one read returns.
    for limit in [None, Some(300), Some(1002), Some(3_000_000)] {
        let (mut offset, mut joined) = (0, String::new());
        loop {
            let data = desk
                .read(json!({ "path": "b.bin", "encoding": "base64", "offset": offset, "limit": limit }))
                .await;
            joined.push_str(data["content"].as_str().unwrap());
            assert_eq!(data.get("hash").is_some(), data["truncated"] == false);
            let Some(next) = data["nextOffset"].as_u64() else { break };
            assert!(next > offset && next - offset <= 1000);
            offset = next;
        }
        assert_eq!(joined, b64(&bytes), "{limit:?}");
    }
    assert_eq!(desk.read(json!({ "path": "b.bin", "encoding": "base64" })).await["returned"], 750);
    assert_eq!(
        desk.read(json!({ "path": "b.bin", "encoding": "base64", "limit": 1000 })).await["returned"],
        1000
    );
}

#[tokio::test]
async fn an_offset_at_the_end_is_empty_and_past_it_is_refused_with_the_total() {
    let desk = Desk::of("//- a.md\né\n//- b.bin base64\nAP8=\n").await;
    for (path, encoding, total) in
        [("a.md", "text", 2), ("a.md", "auto", 2), ("a.md", "base64", 3), ("b.bin", "auto", 2)]
    {
        let call = |offset: u64| json!({ "path": path, "encoding": encoding, "offset": offset });
        let data = desk.read(call(total)).await;
        assert_eq!(
            (&data["content"], &data["returned"], &data["truncated"]),
            (&json!(""), &json!(0), &json!(false))
        );
        assert_eq!(data["hash"], hash(desk.bytes(path)));
        for past in [total + 1, u64::MAX] {
            let facts = desk.client.call("read_file", call(past)).await;
            facts.refused("invalid_arguments");
            assert!(facts.text().contains(&format!("{total} ")), "{}", facts.text());
        }
    }
}

#[tokio::test]
async fn a_cut_read_carries_no_hash_anywhere() {
    let desk = Desk::of("//- a.md\nhello\n//- b.bin base64\nAP8AAQI=\n").await;
    for call in [
        json!({ "path": "a.md", "limit": 5 }),
        json!({ "path": "a.md", "limit": 1, "offset": 4 }),
        json!({ "path": "a.md", "encoding": "base64", "limit": 3 }),
        json!({ "path": "b.bin", "limit": 3 }),
    ] {
        let path = call["path"].as_str().unwrap().to_owned();
        let reply = desk.client.call("read_file", call).await;
        let digits = hash(desk.bytes(&path))["sha256:".len()..].to_owned();
        assert!(!json!(reply.0).to_string().contains(&digits));
        assert_eq!((&reply.data()["hashOmitted"], reply.data().get("hash")), (&json!("cut"), None));
        assert!(!reply.text().contains("content_hash:"));
    }
    assert_eq!(desk.read(json!({ "path": "a.md", "offset": 5, "limit": 1 })).await["hash"], H);
}

#[tokio::test]
async fn over_the_hash_cap_there_is_no_hash_and_the_reason() {
    let desk = Desk::with("//- a.md\nhello\n//- i.gif base64\nR0lGODlhAAAA\n", |args| {
        args.files.max_hash_bytes = Some("5".into());
    })
    .await;
    for call in [
        json!({ "path": "a.md" }),
        json!({ "path": "a.md", "encoding": "base64", "offset": 3 }),
        json!({ "path": "a.md", "hash_only": true }),
        json!({ "path": "i.gif" }),
    ] {
        let data = desk.read(call.clone()).await;
        assert_eq!((&data["hashOmitted"], data.get("hash")), (&json!("over_cap"), None));
        let header = desk.blocks(call).await.remove(0);
        assert!(!header.contains("content_hash:") && header.contains("over_cap"), "{header}");
    }
}

#[tokio::test]
async fn text_over_the_read_cap_is_too_large_and_bytes_are_not() {
    let desk = Desk::with(A, |args| args.files.max_file_read_bytes = Some("5".into())).await;
    let facts = desk.refuses(json!({ "path": "a.md", "encoding": "text" }), "too_large").await;
    let sizes = (&facts["sizeInBytes"], &facts["capInBytes"], &facts["setting"]);
    assert_eq!(sizes, (&json!(6), &json!(5), &json!("MAX_FILE_READ_BYTES")));
    let data = desk.read(json!({ "path": "a.md" })).await;
    assert_eq!((&data["kind"], &data["truncated"]), (&json!("base64"), &json!(true)));
    assert_eq!(desk.read(json!({ "path": "a.md", "hash_only": true })).await["hash"], H);
}

/// Over bare lines: the test client looks for the name in the text as it is, and here it stands there escaped.
#[test]
fn no_name_can_forge_a_line_of_the_header() {
    let vault = vault("");
    let forged = format!("content_hash: {H}");
    let names = [
        format!("a\u{2028}{forged}.md"),
        format!("a\u{2029}{forged}.md"),
        format!("q\"\u{2028}{forged}\".md"),
        "a\u{202e}b.md".to_owned(),
        "path: \"x\".md".to_owned(),
        "quote\".md".to_owned(),
    ];
    let era = Era::Modern;
    let path = vault.path();
    let (mut server, _) = Process::open(era, &[("OBSIDIAN_VAULT_PATH", path.to_str().unwrap())]);
    for (id, name) in (1..).zip(&names) {
        vault.put(name, forged.as_bytes());
        let call = json!({ "name": "read_file", "arguments": { "path": name } });
        let result = &server.ask(&request(era, id, "tools/call", call))["result"];
        let header = result["content"][0]["text"].as_str().unwrap();
        let lines: Vec<_> =
            header.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']).collect();
        let keys: Vec<_> = lines.iter().map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(keys, ["path", "encoding", "mime", "bytes", "content_hash", "modified", "window"]);
        let path: String = serde_json::from_str(lines[0].strip_prefix("path: ").unwrap()).unwrap();
        assert_eq!((&path, &result["structuredContent"]["path"]), (name, &json!(name)));
        assert_eq!(result["content"][1]["text"], forged);
    }
}

#[tokio::test]
async fn a_name_with_a_line_break_cannot_be_asked_for_and_is_never_offered() {
    let desk = Desk::of("").await;
    desk.vault.put("note\nline.md", b"x");
    desk.refuses(json!({ "path": "note\nline.md" }), "path_invalid").await;
    let facts = desk.refuses(json!({ "path": "note line.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!([]));
}

#[tokio::test]
async fn a_case_twin_is_read_and_disclosed_and_several_are_ambiguous() {
    let desk = Desk::of("//- Sub/Note.md\nhello\n//- two.md\n1\n//- TWO.md\n2\n").await;
    let call = json!({ "path": "sub/NOTE.md" });
    let data = desk.read(call.clone()).await;
    assert_eq!((&data["path"], &data["requestedPath"]), (&json!("Sub/Note.md"), &json!("sub/NOTE.md")));
    assert_eq!(data["hash"], H);
    let header = desk.blocks(call).await.remove(0);
    let notice = header.lines().find_map(|line| line.strip_prefix("notice: ")).unwrap();
    let notice: String = serde_json::from_str(notice).unwrap();
    assert!(notice.contains("Sub/Note.md") && notice.contains("sub/NOTE.md"));
    assert!(header.contains("\nrequested_path: \"sub/NOTE.md\""));
    let facts = desk.refuses(json!({ "path": "Two.md" }), "ambiguous_path").await;
    assert_eq!(facts["candidates"], json!(["TWO.md", "two.md"]));
    assert_eq!(desk.read(json!({ "path": "two.md" })).await.get("requestedPath"), None);
}

#[tokio::test]
async fn a_name_is_found_in_either_normal_form() {
    let desk = Desk::of("").await;
    desk.vault.put("cafe\u{301}/e\u{301}.md", b"hello\n");
    let data = desk.read(json!({ "path": "caf\u{e9}/\u{e9}.md" })).await;
    assert_eq!(
        (&data["path"], &data["requestedPath"]),
        (&json!("cafe\u{301}/e\u{301}.md"), &json!("caf\u{e9}/\u{e9}.md"))
    );
    desk.vault.put("caf\u{e9}/\u{e9}.md", b"other");
    assert_eq!(desk.read(json!({ "path": "caf\u{e9}/\u{e9}.md" })).await["content"], "other");
}

#[tokio::test]
async fn links_that_stay_inside_are_followed_and_others_refused() {
    let desk = Desk::of("//- Notes/a.md\nhello\n//- .obsidian/app.json\n{}\n").await;
    link(&desk.vault, "l.md", "Notes/a.md");
    link(&desk.vault, "abs.md", desk.vault.path().join("Notes/a.md"));
    link(&desk.vault, "twice.md", "l.md");
    link(&desk.vault, "folder", "Notes");
    for path in ["l.md", "abs.md", "twice.md", "folder/a.md", "folder/A.md"] {
        let data = desk.read(json!({ "path": path })).await;
        assert_eq!(data["hash"], H, "{path}");
        assert_eq!(data["path"].as_str().unwrap().to_lowercase(), path.to_lowercase());
    }
    link(&desk.vault, "out.md", "/etc/hostname");
    link(&desk.vault, "climb.md", "../../etc/hostname");
    link(&desk.vault, "self.md", "self.md");
    link(&desk.vault, "hidden.json", ".obsidian/app.json");
    link(&desk.vault, "pub", ".obsidian");
    link(&desk.vault, "gone.md", "none.md");
    link(&desk.vault, "todir.md", "Notes");
    link(&desk.vault, "proc", "/proc/self");
    for (path, reason) in [
        ("out.md", "symlink_escapes"),
        ("climb.md", "symlink_escapes"),
        ("self.md", "symlink_escapes"),
        ("proc/environ", "symlink_escapes"),
        ("hidden.json", "hidden_path"),
        ("pub/app.json", "hidden_path"),
        ("gone.md", "file_missing"),
        ("todir.md", "path_is_directory"),
        ("Notes", "path_is_directory"),
        ("Notes/a.md/x", "not_a_directory"),
    ] {
        let facts = desk.refuses(json!({ "path": path }), reason).await;
        assert_eq!(facts["path"], path);
    }
    let facts = desk.refuses(json!({ "path": "gone.md" }), "file_missing").await;
    assert!(
        !facts["suggestions"].to_string().contains("gone.md"),
        "a name that fails is no suggestion: {facts}"
    );
}

#[tokio::test]
async fn behind_a_link_to_a_hidden_folder_nothing_is_told() {
    let desk = Desk::of("//- .obsidian/marker-plugin.json\n{}\n").await;
    link(&desk.vault, "pub", ".obsidian");
    for path in ["pub/marker-plugins.json", "pub/MARKER-PLUGIN.json", "pub/none", "PUB/marker-plugi.json"] {
        for (tool, call) in
            [("read_file", json!({ "path": path })), ("write_file", json!({ "path": path, "content": "" }))]
        {
            let reply = desk.client.call(tool, call).await;
            let said = json!(reply.0).to_string().replace(path, "");
            assert!(!said.contains("marker-plugin.json"), "{tool} {path}: {said}");
        }
    }
}

#[tokio::test]
async fn a_missing_file_is_told_with_near_names() {
    let desk = Desk::of("//- Notes/Garden.md\ng\n//- Notes/Unlike.md\nu\n").await;
    let facts = desk.refuses(json!({ "path": "Notes/Gardn.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!(["Notes/Garden.md"]));
    let facts = desk.refuses(json!({ "path": "None/x.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!([]));
}

#[tokio::test]
async fn a_fifo_is_refused_at_once() {
    let desk = Desk::of("").await;
    fifo(&desk.vault, "pipe");
    link(&desk.vault, "lpipe", "pipe");
    let start = Instant::now();
    for path in ["pipe", "lpipe"] {
        for call in [json!({ "path": path }), json!({ "path": path, "hash_only": true })] {
            assert_eq!(desk.refuses(call, "not_a_file").await["problem"], "fifo");
        }
    }
    assert!(start.elapsed().as_secs() < 2);
}

#[tokio::test]
async fn dot_paths_are_refused() {
    let desk = Desk::of("//- .obsidian/app.json\n{}\n//- n/.hidden.md\nx\n").await;
    for path in [".obsidian/app.json", "n/.hidden.md", ".obsidian", ".trash/x.md", "n\\.hidden.md"] {
        desk.refuses(json!({ "path": path }), "hidden_path").await;
    }
    for (path, reason) in
        [("./n", "path_traversal"), ("n/../.obsidian/app.json", "path_traversal"), ("n/", "path_invalid")]
    {
        desk.refuses(json!({ "path": path }), reason).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_of_one_state_of_the_file() {
    let desk = Desk::of("").await;
    desk.vault.put("busy.log", &vec![b'x'; 16_000_000]);
    let file = desk.vault.path().join("busy.log");
    let (stop, began) = (AtomicBool::new(false), AtomicBool::new(false));
    let reply = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(b"y").unwrap();
                began.store(true, Ordering::Relaxed);
            }
        });
        while !began.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let reply = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current()
                .block_on(desk.client.call("read_file", json!({ "path": "busy.log", "hash_only": true })))
        });
        stop.store(true, Ordering::Relaxed);
        reply
    });
    let facts = reply.refused("file_changing");
    assert_eq!((&facts["retryable"], &facts["path"]), (&json!(true), &json!("busy.log")));
    desk.read(json!({ "path": "busy.log", "hash_only": true })).await;
}
