//! One session as a user asked for it: find the vaults, select one, publish a PDF, keep it from being clobbered.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    client::{ERAS, Era, Process, request},
    need::need,
    tools::{b64, hash, snapshot},
};

/// The built program in a session, and the folder its vaults lie in.
struct Session {
    server: Process,
    era: Era,
    id: u32,
    root: PathBuf,
    _scratch: TempDir,
}

impl Session {
    /// Copies a vault, lists it in an obsidian.json beside a second one, and starts the server on that.
    fn on(vault: &Path, era: Era) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        copy(vault, &root.join("Notes"));
        fs::create_dir(root.join("Other")).unwrap();
        let vaults = json!({
            "58f115bd2c2febd2": { "path": root.join("Notes"), "ts": 1_760_000_000_000_u64, "open": true },
            "aa11bb22cc33dd44": { "path": root.join("Other"), "ts": 1_750_000_000_000_u64 },
            "0000000000000000": { "path": root.join("Gone") },
        });
        fs::write(root.join("obsidian.json"), json!({ "vaults": vaults }).to_string()).unwrap();
        let config = root.join("obsidian.json");
        let state = root.join("state");
        let environment = [
            ("KOBSIDIAN_OBSIDIAN_CONFIG", config.to_str().unwrap()),
            ("XDG_STATE_HOME", state.to_str().unwrap()),
        ];
        let (server, _) = Process::open(era, &environment);
        Self { server, era, id: 0, root, _scratch: scratch }
    }

    fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        self.id += 1;
        let mut call = json!({ "name": tool });
        call["arguments"] = arguments;
        self.server.ask(&request(self.era, self.id, "tools/call", call))["result"].clone()
    }

    fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    fn fails(&mut self, tool: &str, arguments: Value, reason: &str) -> Value {
        let result = self.ask(tool, arguments);
        let data = result["_meta"]["dev.vaultwright/error"]["data"].clone();
        assert_eq!((&result["isError"], &data["reason"]), (&json!(true), &json!(reason)), "{result}");
        data
    }

    fn folder(&self, name: &str) -> String {
        self.root.join(name).to_str().unwrap().to_owned()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else if entry.file_type().is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A valid PDF of one page with a line of text.
fn pdf(text: &str) -> Vec<u8> {
    let drawing = format!("BT /F1 18 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{drawing}\nendstream", drawing.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut bytes = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in (1..).zip(&objects) {
        table.extend([format!("{:010} 00000 n \n", bytes.len())]);
        bytes.extend(format!("{number} 0 obj\n{object}\nendobj\n").bytes());
    }
    let start = bytes.len();
    bytes.extend(
        format!("xref\n0 6\n{table}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes(),
    );
    bytes
}

fn choose(session: &mut Session) {
    let list = session.ok("vault_list", json!({}));
    let items = list["items"].as_array().unwrap();
    let told: Vec<_> = items.iter().map(|item| [&item["id"], &item["name"], &item["exists"]]).collect();
    assert_eq!(
        json!(told),
        json!([
            ["58f115bd2c2febd2", "Notes", true],
            ["aa11bb22cc33dd44", "Other", true],
            ["0000000000000000", "Gone", false],
        ])
    );
    assert_eq!(
        (&list["total"], &list["activeVaultId"], &list["scope"]),
        (&json!(3), &json!(null), &json!("process"))
    );
    session.fails("read_file", json!({ "path": "Home.md" }), "vault_required");
    session.fails("vault_select", json!({ "name": "gone" }), "vault_missing");
    let (notes, other) = (session.folder("Notes"), session.folder("Other"));
    for (selector, changed, previous) in [
        (json!({ "name": "notes" }), true, json!(null)),
        (json!({ "id": "58f115bd2c2febd2" }), false, json!(notes)),
        (json!({ "path": other }), true, json!(notes)),
        (json!({ "path": format!("{notes}/") }), true, json!(other)),
    ] {
        let data = session.ok("vault.select", selector.clone());
        assert_eq!(data["changed"], changed, "{selector}");
        assert_eq!(data["previous"]["path"], previous, "{selector}");
    }
    let list = session.ok("vault_list", json!({}));
    assert_eq!(list["activeVaultId"], "58f115bd2c2febd2");
    let current = session.ok("vault.current", json!({}));
    assert_eq!((&current["active"]["path"], &current["reason"]), (&json!(notes), &json!("session-selected")));
}

fn publish(session: &mut Session) {
    let (first, second) = (pdf("First edition"), pdf("Second edition"));
    let call = |bytes: &[u8]| json!({ "path": "Outputs/2026/report.pdf", "content": b64(bytes) });
    let bound = |bytes: &[u8], hash: &str| {
        let mut call = call(bytes);
        call["overwrite"] = true.into();
        call["expected_hash"] = hash.into();
        call
    };
    let made = session.ok("write_file", call(&first));
    assert_eq!((&made["created"], &made["hash"]), (&json!(true), &json!(hash(&first))));
    assert_eq!(made["createdFolders"], json!(["Outputs", "Outputs/2026"]));
    let file = session.root.join("Notes/Outputs/2026/report.pdf");
    assert_eq!(fs::read(&file).unwrap(), first);

    let taken = session.fails("write_file", call(&second), "file_exists");
    assert_eq!(taken["currentHash"], hash(&first));
    let read = session.ok("read_file", json!({ "path": "Outputs/2026/report.pdf" }));
    assert_eq!(
        (&read["mime"], &read["kind"], &read["content"]),
        (&json!("application/pdf"), &json!("base64"), &json!(b64(&first)))
    );

    let replaced = session.ok("write_file", bound(&second, read["hash"].as_str().unwrap()));
    assert_eq!((&replaced["hash"], &replaced["previousHash"]), (&json!(hash(&second)), &json!(hash(&first))));
    let stale = session.fails("write_file", bound(&first, &hash(&first)), "stale_precondition");
    assert_eq!(stale["currentHash"], hash(&second));
    assert_eq!(fs::read(&file).unwrap(), second);
    let told = session.ok("read_file", json!({ "path": "Outputs/2026/report.pdf", "hash_only": true }));
    assert_eq!(told["hash"], hash(&second));
    session.fails("write_file", json!({ "path": ".obsidian/app.json", "content": "" }), "hidden_path");
    session.fails("write_file", json!({ "path": "../escaped.pdf", "content": "" }), "path_traversal");
}

/// Twenty creations of one path are sent before any is answered.
fn race(session: &mut Session) {
    for n in 0..20 {
        let call = json!({ "path": "Race/one.txt", "content": format!("{n}"), "encoding": "text" });
        let call =
            request(session.era, 1000 + n, "tools/call", json!({ "name": "write_file", "arguments": call }));
        session.server.send(&call.to_string());
    }
    let answers: Vec<_> = (0..20).map(|_| session.server.receive()["result"].clone()).collect();
    let (lost, won): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer["isError"] == true);
    assert_eq!(won.len(), 1);
    let reasons: Vec<_> =
        lost.iter().map(|answer| &answer["_meta"]["dev.vaultwright/error"]["data"]["reason"]).collect();
    assert!(reasons.iter().all(|reason| **reason == "file_exists"), "{reasons:?}");
    let winner = &won[0]["structuredContent"]["hash"];
    assert_eq!(*winner, hash(fs::read(session.root.join("Notes/Race/one.txt")).unwrap()));
}

/// The whole session; what was in the vault before is as it was.
fn play(vault: &Path) {
    for era in ERAS {
        let mut session = Session::on(vault, era);
        let before = snapshot(&session.root.join("Notes"));
        choose(&mut session);
        assert_eq!(snapshot(&session.root.join("Notes")), before);
        publish(&mut session);
        race(&mut session);
        let after = snapshot(&session.root.join("Notes"));
        assert!(before.iter().all(|(path, stand)| after.get(path) == Some(stand)));
        assert_eq!(
            visible(&session.root.join("Notes"), after.keys()),
            visible(&session.root.join("Notes"), before.keys()) + 5
        );
        let reset = session.ok("vault_reset", json!({}));
        assert_eq!((&reset["changed"], &reset["previous"]["name"]), (&json!(true), &json!("Notes")));
        session.fails("read_file", json!({ "path": "Race/one.txt" }), "vault_required");
        let here = json!({ "path": "Race/one.txt", "vaultPath": session.folder("Notes") });
        session.ok("read_file", here);
        let Session { server, _scratch, .. } = session;
        let ending = server.close();
        assert_eq!((ending.code, ending.rest.len()), (Some(0), 0));
    }
}

fn visible<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> usize {
    let hidden = |path: &&PathBuf| {
        path.strip_prefix(root).unwrap().to_string_lossy().split('/').any(|name| name.starts_with('.'))
    };
    paths.filter(|path| !hidden(path)).count()
}

#[test]
fn a_session_on_the_bundled_vault_is_as_a_user_would_have_it() {
    play(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vault-fixtures/everyday"));
}

#[test]
fn a_session_on_a_real_vault_is_too() {
    need!(real_vaults);
    let vaults = std::env::var_os("VAULTWRIGHT_REAL_VAULTS").unwrap();
    play(&Path::new(&vaults).join("kepano"));
}
