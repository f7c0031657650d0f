//! Which vault a call acts on, through real sessions.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use vaultwright::{config::Args, serving::State};

use super::{config, fifo, futures_of};
use crate::{
    client::{Client, ERAS, Era},
    vault::vault,
};

/// Folders, some of them vaults, and a client of a server that knows what it was told.
struct World {
    scratch: TempDir,
    client: Client,
}

impl World {
    /// Makes the folders; each holds a note with its own path. `set` gets the settings and the scratch folder.
    async fn of(folders: &[&str], set: impl FnOnce(&mut Args, &Path)) -> Self {
        Self::in_era(Era::Modern, folders, set).await
    }

    async fn in_era(era: Era, folders: &[&str], set: impl FnOnce(&mut Args, &Path)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(scratch.path().join(folder)).unwrap();
            fs::write(scratch.path().join(folder).join("who.md"), folder).unwrap();
        }
        let config = config(scratch.path(), |args| set(args, scratch.path()));
        let client = Client::open(Arc::new(State::new(config)), era).await;
        Self { scratch, client }
    }

    fn at(&self, path: &str) -> String {
        at(self.scratch.path(), path)
    }

    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.client.call(tool, arguments).await.data().clone()
    }

    async fn fails(&self, tool: &str, arguments: Value, reason: &str) -> Value {
        let reply = self.client.call(tool, arguments).await;
        let message = reply.error().unwrap_or_else(|| panic!("{}", reply.text()))["message"].clone();
        assert!(message.as_str().unwrap().ends_with("othing was written."), "{message}");
        reply.refused(reason).clone()
    }

    async fn select(&self, arguments: Value) -> Value {
        self.ok("vault_select", arguments).await
    }

    /// The folder a call acts on, or the reason why on none.
    async fn who(&self, vault_path: Option<&str>) -> String {
        let reply = self.client.call("read_file", json!({ "path": "who.md", "vaultPath": vault_path })).await;
        match reply.error() {
            None => reply.data()["content"].as_str().unwrap().to_owned(),
            Some(error) => error["data"]["reason"].as_str().unwrap().to_owned(),
        }
    }
}

fn at(root: &Path, path: &str) -> String {
    root.join(path).to_str().unwrap().to_owned()
}

/// Writes an obsidian.json and names it in the settings.
fn registry(args: &mut Args, root: &Path, file: &Value) {
    fs::write(root.join("obsidian.json"), file.to_string()).unwrap();
    args.vaults.obsidian_config = Some(at(root, "obsidian.json"));
}

#[tokio::test]
async fn the_argument_outranks_the_selection_and_that_the_default() {
    for era in ERAS {
        for (v, s, d, expected) in [
            (true, true, true, "v"),
            (true, true, false, "v"),
            (true, false, true, "v"),
            (true, false, false, "v"),
            (false, true, true, "s"),
            (false, true, false, "s"),
            (false, false, true, "d"),
            (false, false, false, "vault_required"),
        ] {
            let world = World::in_era(era, &["v", "s", "d"], |args, root| {
                args.vaults.vault = d.then(|| at(root, "d"));
            })
            .await;
            if s {
                world.select(json!({ "path": world.at("s") })).await;
            }
            let argument = world.at("v");
            assert_eq!(world.who(v.then_some(&*argument)).await, expected);
        }
    }
}

#[tokio::test]
async fn an_argument_or_selection_that_fails_never_falls_through() {
    let world = World::of(&["s", "d"], |args, root| args.vaults.vault = Some(at(root, "d"))).await;
    world.select(json!({ "path": world.at("s") })).await;
    for (path, reason) in [
        ("", "invalid_arguments"),
        ("relative", "vault_path_not_absolute"),
        ("./s", "vault_path_not_absolute"),
        ("~/s", "vault_path_not_absolute"),
        ("file:///tmp", "vault_path_not_absolute"),
        ("C:\\vault", "vault_path_not_absolute"),
        (" ", "vault_path_not_absolute"),
        ("/no/such/folder", "vault_missing"),
        ("/", "vault_root_refused"),
        ("/etc", "vault_root_refused"),
        ("/proc/self", "vault_root_refused"),
        ("/dev/null", "vault_not_a_directory"),
    ] {
        assert_eq!(world.who(Some(path)).await, reason, "{path}");
    }
    assert_eq!(world.who(Some(&world.at("s/who.md"))).await, "vault_not_a_directory");
    fs::rename(world.at("s"), world.at("moved")).unwrap();
    assert_eq!(world.who(None).await, "vault_missing");
    let reply = world.client.call("write_file", json!({ "path": "n.md", "content": "" })).await;
    reply.refused("vault_missing");
    assert!(!Path::new(&world.at("s")).exists());
    let current = world.ok("vault_current", json!({})).await;
    assert_eq!(
        (&current["active"]["exists"], &current["reason"]),
        (&json!(false), &json!("session-selected"))
    );
    assert_eq!(world.ok("vault_reset", json!({})).await["changed"], true);
    assert_eq!(world.who(None).await, "d");
    assert_eq!(world.ok("vault_reset", json!({})).await["changed"], false);
}

#[tokio::test]
async fn a_folder_is_one_vault_in_every_spelling() {
    let world = World::of(&["d", "Fresh/deep"], |args, root| args.vaults.vault = Some(at(root, "d"))).await;
    std::os::unix::fs::symlink("d", world.scratch.path().join("alias")).unwrap();
    for path in ["d", "d/", "d//", "./d", "x/../d", "alias", "alias/", "Fresh/../d"] {
        let active =
            world.select(json!({ "path": format!("{}/{path}", world.scratch.path().display()) })).await;
        assert_eq!(active["active"]["id"], "default", "{path}");
        assert_eq!(world.who(Some(&world.at(path))).await, "d");
    }
    let data = world.select(json!({ "path": world.at("Fresh") })).await;
    assert_eq!(data["changed"], true);
    assert_eq!(data["previous"]["id"], "default");
}

#[tokio::test]
async fn a_selection_lasts_in_the_process_and_shows_in_the_next_answer() {
    let world = World::of(&["a", "b"], |args, root| {
        args.vaults.named_vault = vec![format!("A={}", at(root, "a")), format!("b={}", at(root, "b"))];
    })
    .await;
    let reply = world.client.call("vault_select", json!({ "name": "B" })).await;
    let data = reply.data();
    assert_eq!(data["summary"], format!("Active vault set to \"b\" ({}).", world.at("b")));
    assert_eq!((&data["target"], &data["scope"]), (&json!(world.at("b")), &json!("process")));
    assert_eq!((&data["changed"], &data["previous"]), (&json!(true), &json!(null)));
    assert_eq!((&data["active"]["isActive"], &data["active"]["isDefault"]), (&json!(true), &json!(false)));
    assert!(reply.text().starts_with(data["summary"].as_str().unwrap()));
    let list = world.client.call("vault_list", json!({})).await;
    assert_eq!((&list.data()["activeVaultId"], &list.data()["total"]), (&json!("env:b"), &json!(2)));
    assert!(list.text().contains("* b  env:b  ") && list.text().contains("[active]"));
    assert_eq!(world.select(json!({ "id": "env:b" })).await["changed"], false);
    let data = world.select(json!({ "id": "env:a" })).await;
    assert_eq!((&data["previous"]["id"], &data["previous"]["isActive"]), (&json!("env:b"), &json!(false)));
    let reset = world.client.call("vault_reset", json!({})).await;
    assert_eq!((&reset.data()["target"], &reset.data()["previous"]["id"]), (&json!(""), &json!("env:a")));
    assert_eq!(world.ok("vault_list", json!({})).await["activeVaultId"], json!(null));
    assert_eq!(world.ok("vault_current", json!({})).await["reason"], "none");
    let facts = world.fails("read_file", json!({ "path": "who.md" }), "vault_required").await;
    assert_eq!(facts["vaults"], json!([{ "id": "env:a", "name": "a" }, { "id": "env:b", "name": "b" }]));
}

#[tokio::test]
async fn a_selector_is_exactly_one_and_not_empty() {
    let world = World::of(&["a"], |_, _| {}).await;
    for (call, given) in [
        (json!({}), json!(null)),
        (json!({ "id": "a", "name": "a" }), json!(["id", "name"])),
        (json!({ "id": "", "path": "/x" }), json!(["id", "path"])),
        (json!({ "id": "a", "name": "b", "path": "c" }), json!(["id", "name", "path"])),
        (json!({ "id": "" }), json!(null)),
        (json!({ "name": "  " }), json!(null)),
        (json!({ "path": "\t" }), json!(null)),
        (json!({ "name": null }), json!(null)),
    ] {
        let facts = world.fails("vault_select", call.clone(), "invalid_arguments").await;
        assert_eq!(facts.get("given").cloned().unwrap_or_default(), given, "{call}");
    }
    for (call, reason) in [
        (json!({ "path": "a" }), "vault_path_not_absolute"),
        (json!({ "path": "~/a" }), "vault_path_not_absolute"),
        (json!({ "id": "nobody" }), "vault_not_found"),
        (json!({ "name": "nobody" }), "vault_not_found"),
        (json!({ "path": world.at("gone") }), "vault_missing"),
        (json!({ "path": world.at("a/who.md") }), "vault_not_a_directory"),
    ] {
        world.fails("vault_select", call, reason).await;
    }
    let reply = world.client.call("vault_select", json!({ "path": "/tmp/a\0b" })).await;
    assert!(reply.error().is_some());
    assert!(!Path::new(&world.at("gone")).exists());
}

/// The vectors of the specification: the default, a registry that knows it too, and a namesake that is gone.
fn work(args: &mut Args, root: &Path) {
    args.vaults.vault = Some(at(root, "v/Work"));
    let vaults = json!({
        "58f115bd2c2febd2": { "path": at(root, "v/Work"), "ts": 1 },
        "aa": { "path": at(root, "v/work-old/Work") },
    });
    registry(args, root, &json!({ "vaults": vaults }));
}

#[tokio::test]
async fn ids_names_and_paths_of_one_folder_select_one_record() {
    let world = World::of(&["v/Work/Sub"], |args, root| {
        fs::create_dir_all(root.join("v/Work")).unwrap();
        work(args, root);
    })
    .await;
    for selector in [
        json!({ "id": "58f115bd2c2febd2" }),
        json!({ "id": "default" }),
        json!({ "name": "WORK" }),
        json!({ "name": "Work" }),
        json!({ "path": world.at("v/Work/") }),
    ] {
        let data = world.select(selector.clone()).await;
        assert_eq!(data["active"]["id"], "default", "{selector}");
        assert_eq!(data["active"]["aliasIds"], json!(["58f115bd2c2febd2"]));
        assert_eq!(data["active"]["lastOpened"], "1970-01-01T00:00:00.001Z");
    }
    world.fails("vault_select", json!({ "id": "aa" }), "vault_missing").await;
    world.fails("vault_select", json!({ "id": "58F115BD2C2FEBD2" }), "vault_not_found").await;
    for path in ["v", "v/Work/Sub"] {
        assert_eq!(world.select(json!({ "path": world.at(path) })).await["active"]["source"], "ad-hoc");
    }
    assert!(!Path::new(&world.at("v/work-old")).exists());
}

#[tokio::test]
async fn a_path_list_refuses_roots_that_would_escape_it() {
    let world = World::of(&["v/Work/Sub", "else"], |args, root| {
        work(args, root);
        args.vaults.deny_paths = Some("private".into());
    })
    .await;
    for (path, relation) in [("v", "contains"), ("v/Work/Sub", "inside")] {
        for (tool, call) in [
            ("vault_select", json!({ "path": world.at(path) })),
            ("read_file", json!({ "path": "who.md", "vaultPath": world.at(path) })),
        ] {
            let facts = world.fails(tool, call, "vault_overlap").await;
            assert_eq!((&facts["relation"], &facts["other"]), (&json!(relation), &json!(world.at("v/Work"))));
        }
    }
    assert_eq!(world.who(Some(&world.at("else"))).await, "else");
}

#[tokio::test]
async fn a_blocked_vault_is_no_vault_in_any_spelling() {
    let world = World::of(&["v/Secret", "v/Open", "x"], |args, root| {
        registry(args, root, &json!({ "vaults": { "s": { "path": at(root, "v/Secret") }, "o": { "path": at(root, "v/Open") } } }));
        args.vaults.vault_deny = Some(at(root, "v/Secret"));
    })
    .await;
    std::os::unix::fs::symlink("../v/Secret", world.scratch.path().join("x/l")).unwrap();
    for path in
        ["v/Secret", "v/Secret/", "v//Secret", "v/Open/../Secret", "x/l", "x/l/", "x/../x/l", "./v/Secret"]
    {
        let path = format!("{}/{path}", world.scratch.path().display());
        assert_eq!(world.who(Some(&path)).await, "vault_forbidden", "{path}");
        let facts = world.fails("vault_select", json!({ "path": path }), "vault_forbidden").await;
        assert!(!facts.to_string().contains("v/Open"), "no entry is told");
    }
    // Below a blocked vault is no way round, and above it the vault is withheld.
    fs::create_dir(world.at("v/Secret/Sub")).unwrap();
    assert_eq!(world.who(Some(&world.at("v/Secret/Sub"))).await, "vault_overlap");
    for selector in [json!({ "name": "Secret" }), json!({ "name": "secret" }), json!({ "id": "s" })] {
        let facts = world.fails("vault_select", selector, "vault_not_found").await;
        assert!(!facts["suggestions"].to_string().contains("ecret"));
        assert!(facts["recovery"]["hint"].as_str().unwrap().contains("operator"));
    }
    let list = world.client.call("vault_list", json!({})).await;
    assert_eq!((&list.data()["total"], &list.data()["gated"]), (&json!(1), &json!(true)));
    assert!(!list.text().contains("Secret"));
    let facts = world.fails("read_file", json!({ "path": "who.md" }), "vault_required").await;
    assert_eq!(facts["vaults"], json!([{ "id": "o", "name": "Open" }]));
}

#[tokio::test]
async fn a_selection_that_is_blocked_by_what_it_became_is_refused() {
    let world =
        World::of(&["Secret", "Open"], |args, root| args.vaults.vault_deny = Some(at(root, "Secret"))).await;
    let link = world.scratch.path().join("l");
    std::os::unix::fs::symlink("Open", &link).unwrap();
    world.select(json!({ "path": world.at("l") })).await;
    assert_eq!(world.who(None).await, "Open");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("Secret", &link).unwrap();
    assert_eq!(world.who(None).await, "vault_forbidden");
    assert_eq!(world.ok("vault_current", json!({})).await["active"], json!(null));
    assert!(!world.client.call("vault_list", json!({})).await.text().contains("Secret"));
}

#[tokio::test]
async fn an_allow_list_forbids_all_else_but_the_default() {
    let world = World::of(&["d", "a", "b"], |args, root| {
        args.vaults.vault = Some(at(root, "d"));
        args.vaults.vault_allow = Some(at(root, "a"));
    })
    .await;
    for (path, expected) in [("d", "d"), ("a", "a"), ("b", "vault_forbidden"), ("none", "vault_forbidden")] {
        assert_eq!(world.who(Some(&world.at(path))).await, expected);
    }
    assert_eq!(world.who(None).await, "d");
}

#[tokio::test]
async fn a_denied_name_never_blocks_the_default() {
    let world = World::of(&["Work"], |args, root| {
        args.vaults.vault = Some(at(root, "Work"));
        args.vaults.vault_deny = Some("Work".into());
    })
    .await;
    assert_eq!(world.who(None).await, "Work");
    assert_eq!(world.select(json!({ "name": "Work" })).await["active"]["id"], "default");
}

#[tokio::test]
async fn folders_that_are_not_configured_can_be_turned_off() {
    let world = World::of(&["d", "a", ".dot"], |args, root| {
        args.vaults.vault = Some(at(root, "d"));
        args.vaults.vault_ad_hoc = Some("off".into());
    })
    .await;
    let facts = world
        .fails("read_file", json!({ "path": "who.md", "vaultPath": world.at("a") }), "vault_root_refused")
        .await;
    assert_eq!(facts["problem"], "ad_hoc_off");
    let facts = world.fails("vault_select", json!({ "path": world.at(".dot") }), "vault_root_refused").await;
    assert_eq!(facts["problem"], "dot_root");
    assert_eq!(world.who(Some(&world.at("d"))).await, "d");
}

#[tokio::test]
async fn several_vaults_of_one_name_are_ambiguous() {
    let world = World::of(&["a/Notes", "b/Notes", "b/notes"], |args, root| {
        let path = |folder: &str| json!({ "path": at(root, folder) });
        registry(
            args,
            root,
            &json!({ "vaults": { "1": path("a/Notes"), "2": path("b/Notes"), "3": path("b/notes") } }),
        );
    })
    .await;
    let facts = world.fails("vault_select", json!({ "name": "Notes" }), "ambiguous_vault").await;
    let ids: Vec<_> = facts["candidates"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(world.select(json!({ "name": "notes" })).await["active"]["id"], "3");
    let facts = world.fails("vault_select", json!({ "name": "NOTES" }), "ambiguous_vault").await;
    assert_eq!(facts["candidates"].as_array().unwrap().len(), 3);
    assert!(facts["recovery"]["hint"].as_str().unwrap().contains("1, 2, 3"));
}

#[tokio::test]
async fn an_edit_of_the_registry_is_seen_on_the_next_call() {
    let world = World::of(&["a", "b"], |args, root| {
        registry(args, root, &json!({ "vaults": { "1": { "path": at(root, "a") } } }));
    })
    .await;
    assert_eq!(world.ok("vault_list", json!({})).await["total"], 1);
    let two =
        json!({ "vaults": { "1": { "path": world.at("a") }, "2": { "path": world.at("b"), "open": true } } });
    fs::write(world.at("obsidian.json"), two.to_string()).unwrap();
    let data = world.ok("vault_list", json!({})).await;
    assert_eq!((&data["total"], &data["obsidianConfigPath"]), (&json!(2), &json!(world.at("obsidian.json"))));
    world.select(json!({ "id": "2" })).await;
    fs::remove_file(world.at("obsidian.json")).unwrap();
    let data = world.ok("vault_list", json!({})).await;
    assert!(data["obsidianConfigError"].as_str().unwrap().starts_with("not found:"));
    assert_eq!((&data["obsidianConfigPath"], &data["total"]), (&json!(null), &json!(1)));
    assert_eq!(data["activeVaultId"], data["items"][0]["id"]);
    assert_eq!(world.who(None).await, "b");
}

#[tokio::test]
async fn a_half_broken_registry_gives_its_good_half() {
    let world = World::of(&["good", "late"], |args, root| {
        let vaults = json!({
            "1": 7, "2": [], "3": null, "4": {}, "5": { "path": 3 }, "6": { "path": "" }, "7": { "path": "relative" },
            "8": { "path": "C:\\Users\\a\\Vault" }, "9": { "path": "\\\\server\\share" }, "": { "path": "/x" },
            "good": { "path": at(root, "good"), "ts": "soon", "open": "yes", "unknown": {} },
            "late": { "path": at(root, "late"), "ts": 1e300, "open": false },
            "file": { "path": at(root, "obsidian.json") },
            "bell\u{7}\nid": { "path": at(root, "good/../gone\nfolder") },
        });
        registry(args, root, &json!({ "vaults": vaults, "updateDisabled": true }));
    })
    .await;
    let reply = world.client.call("vault_list", json!({})).await;
    let data = reply.data();
    let ids: Vec<_> =
        data["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.contains(&"good") && ids.contains(&"late") && ids.contains(&"file"));
    assert!(data["warnings"].as_array().unwrap().len() >= 11);
    assert_eq!(data.get("obsidianConfigError"), None);
    let record = |id: &str| data["items"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
    assert_eq!((record("good").get("lastOpened"), record("good").get("open")), (None, None));
    assert_eq!((&record("late")["open"], &record("file")["exists"]), (&json!(false), &json!(false)));
    world.fails("vault_select", json!({ "id": "file" }), "vault_not_a_directory").await;
    world.select(json!({ "id": "good" })).await;
    assert_eq!(world.who(None).await, "good");
}

#[tokio::test]
async fn a_registry_that_cannot_be_read_is_told_and_costs_nothing_else() {
    for (bytes, error) in [
        (&b"{"[..], "JSON parse failed:"),
        (b"", "JSON parse failed:"),
        (b"\xff\xfe", "JSON parse failed:"),
        (b"[]", "shape mismatch:"),
        (b"{\"vaults\": []}", "shape mismatch:"),
        (&vec![b' '; 1_048_577], "read failed:"),
    ] {
        let world = World::of(&["d"], |args, root| {
            args.vaults.vault = Some(at(root, "d"));
            fs::write(root.join("obsidian.json"), bytes).unwrap();
            args.vaults.obsidian_config = Some(at(root, "obsidian.json"));
        })
        .await;
        let data = world.ok("vault_list", json!({})).await;
        let told = data["obsidianConfigError"].as_str().unwrap();
        assert!(told.starts_with(error), "{told}");
        assert_eq!((&data["total"], &data["obsidianConfigPath"]), (&json!(1), &json!(null)));
        assert_eq!(world.who(None).await, "d");
    }
    let world = World::of(&["d"], |args, root| {
        args.vaults.vault = Some(at(root, "d"));
        args.vaults.obsidian_config = Some(at(root, "d"));
    })
    .await;
    let data = world.ok("vault_list", json!({})).await;
    assert!(data["obsidianConfigError"].as_str().unwrap().starts_with("read failed:"), "{data}");
}

#[tokio::test]
async fn a_registry_that_is_a_fifo_is_not_waited_for() {
    let vault = vault("//- who.md\nd");
    fifo(&vault, "pipe.json");
    let pipe = vault.path().join("pipe.json").to_str().unwrap().to_owned();
    let state = super::state(&vault, |args| args.vaults.obsidian_config = Some(pipe));
    let client = Client::open(state, Era::Modern).await;
    let data = client.call("vault_list", json!({})).await.data().clone();
    assert!(data["obsidianConfigError"].as_str().unwrap().starts_with("read failed:"), "{data}");
}

#[tokio::test]
async fn a_default_that_is_a_file_or_gone_says_so_and_is_not_made() {
    for (folder, reason) in
        [("file", "vault_not_a_directory"), ("gone", "vault_missing"), ("file/x", "vault_not_a_directory")]
    {
        let world = World::of(&["other"], |args, root| {
            fs::write(root.join("file"), "").unwrap();
            args.vaults.vault = Some(at(root, folder));
        })
        .await;
        assert_eq!(world.who(None).await, reason);
        let facts = world.fails("write_file", json!({ "path": "n.md", "content": "" }), reason).await;
        assert_eq!(facts["path"], world.at(folder));
        let data = world.ok("vault_list", json!({})).await;
        assert_eq!((&data["items"][0]["exists"], &data["activeVaultId"]), (&json!(false), &json!("default")));
        assert_eq!(world.who(Some(&world.at("other"))).await, "other");
        assert!(!Path::new(&world.at("gone")).exists());
    }
}

#[tokio::test]
async fn nested_listed_vaults_are_both_served_until_a_path_list_is_set() {
    for lists in [false, true] {
        let world = World::of(&["Outer/Inner"], |args, root| {
            fs::write(root.join("Outer/who.md"), "Outer").unwrap();
            args.vaults.named_vault =
                vec![format!("o={}", at(root, "Outer")), format!("i={}", at(root, "Outer/Inner"))];
            args.vaults.deny_paths = lists.then(|| "Inner/private".to_owned());
        })
        .await;
        let inner = if lists { "vault_overlap" } else { "Outer/Inner" };
        assert_eq!(world.who(Some(&world.at("Outer/Inner"))).await, inner);
        assert_eq!(world.who(Some(&world.at("Outer"))).await, "Outer");
    }
}

#[tokio::test]
async fn clients_of_two_processes_share_no_selection() {
    let one = World::of(&["a", "b"], |args, root| args.vaults.vault = Some(at(root, "a"))).await;
    let two = World::of(&["a"], |args, root| args.vaults.vault = Some(at(root, "a"))).await;
    one.select(json!({ "path": one.at("b") })).await;
    assert_eq!((one.who(None).await, two.who(None).await), ("b".to_owned(), "a".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn selections_and_reads_at_once_are_each_of_one_vault() {
    let world = World::of(&["a", "b"], |args, root| args.vaults.vault = Some(at(root, "a"))).await;
    let calls = (0..40).map(|n| {
        let (world, folder) = (&world, if n % 2 == 0 { "a" } else { "b" });
        async move {
            world.select(json!({ "path": world.at(folder) })).await;
            (folder, world.who(Some(&world.at(folder))).await, world.who(None).await)
        }
    });
    for (folder, named, selected) in futures_of(calls).await {
        assert_eq!(named, folder);
        assert!(["a", "b"].contains(&&*selected));
    }
}

#[tokio::test]
async fn names_on_disk_that_are_no_utf8_break_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::of(&["d/sub"], |args, root| args.vaults.vault = Some(at(root, "d"))).await;
    let odd = world.scratch.path().join("d").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md"));
    fs::write(&odd, "odd").unwrap();
    fs::create_dir(world.scratch.path().join("d").join(std::ffi::OsStr::from_bytes(b"dir\xff"))).unwrap();
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(b"caf\xe9.md"), world.at("d/link.md")).unwrap();
    let facts = world.fails("read_file", json!({ "path": "cafe.md" }), "file_missing").await;
    assert_eq!(facts["suggestions"], json!([]));
    let reply = world.client.call("read_file", json!({ "path": "link.md" })).await;
    assert!(reply.error().is_none_or(|error| error["data"]["reason"] != "internal"));
    world.fails("write_file", json!({ "path": "link.md", "content": "" }), "symlink_refused").await;
    world.ok("write_file", json!({ "path": "caf\u{e9}.md", "content": "" })).await;
    assert_eq!(fs::read(odd).unwrap(), b"odd");
}
