//! The session: what an agent does with a vault, and what the server makes of it.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    DemoError, bundle,
    player::{Call, Player},
};
use crate::text::ContentHash;

const NOTE: &str = "Projects/Garden.md";
const PDF: &str = "Attachments/seed-order.pdf";
const LOG_END: &str = "- 2026-11-28: the compost is warm.\n";
const LOG_LINE: &str = "- 2026-11-30: seeds are ordered, see [[seed-order.pdf]].\n";
const EDITOR_TEXT: &str = "# Garden\n\nThe person at the keyboard wrote this.\n";
/// An empty page.
const PDF_BYTES: &str = "%PDF-1.4\n\
    1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n\
    2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n\
    3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 200 100]>> endobj\n\
    trailer <</Root 1 0 R>>\n%%EOF\n";
/// The most bytes that a list of tools may cost a model.
const LISTING_MAX: usize = 30_000;
const AT_ONCE: usize = 20;

/// Plays the whole session.
pub(super) async fn play(player: &mut Player<'_>) -> Result<(), DemoError> {
    meet(player).await?;
    let hash = edit(player).await?;
    attach(player).await?;
    meet_an_editor(player, &hash).await?;
    stray(player).await?;
    crowd(player).await?;
    look_at_the_pdf(player).await
}

async fn meet(player: &mut Player<'_>) -> Result<(), DemoError> {
    let tools = player.list_tools("Connect, and see which tools there are").await?;
    let bytes = json!(tools).to_string().len();
    player.prove(format!("the list takes {bytes} bytes, less than {LISTING_MAX}"), bytes < LISTING_MAX);
    player
        .call(Call {
            wants: "Ask which vault a call works on",
            tool: "vault_current",
            arguments: json!({}),
            expected: "env-default",
        })
        .await?;
    player
        .call(Call {
            wants: "See which vaults are known",
            tool: "vault_list",
            arguments: json!({}),
            expected: "answered",
        })
        .await?;
    player
        .call(Call {
            wants: "Choose one by its name",
            tool: "vault_select",
            arguments: json!({ "name": bundle::VAULT }),
            expected: "answered",
        })
        .await?;
    Ok(())
}

/// Reads a note, changes it, and answers the hash of the change.
async fn edit(player: &mut Player<'_>) -> Result<String, DemoError> {
    let read = player.call(read(NOTE, false, "Read a note, and remember its hash")).await?;
    let before = text_of(&read, "hash");
    player.call(read_in_another_case()).await?;
    let text = text_of(&read, "content").replace(LOG_END, &format!("{LOG_END}{LOG_LINE}"));
    let change = |dry_run| {
        json!({
            "path": NOTE, "encoding": "text", "overwrite": true, "expected_hash": before, "dry_run": dry_run,
            "content": text,
        })
    };
    let wants = "See what a change of the note would do, before making it";
    player.call(write(wants, change(true), "nothing_written")).await?;
    player.prove("the note is as it was", hash(&player.on_disk(NOTE)) == before);
    let written = player
        .call(write("Make the change, if the note still has that hash", change(false), "replaced"))
        .await?;
    let after = text_of(&written, "hash");
    player.prove("the note holds the new line", player.on_disk(NOTE) == text.as_bytes());
    let late = player
        .call(write("Make another one, from what it read at first", late(&before), "stale_precondition"))
        .await?;
    player.prove("the answer tells the hash that is there now", text_of(&late, "currentHash") == after);
    Ok(after)
}

fn late(hash: &str) -> Value {
    json!({
        "path": NOTE, "encoding": "text", "overwrite": true, "expected_hash": hash,
        "content": "# Garden\n",
    })
}

fn read_in_another_case() -> Call {
    read("recipes/CRÈME brûlée.md", true, "Look at a note, with its name in the wrong case")
}

async fn attach(player: &mut Player<'_>) -> Result<(), DemoError> {
    let content = BASE64_STANDARD.encode(PDF_BYTES);
    let arguments = json!({ "path": PDF, "content": content });
    player.call(write("Put a PDF into the vault", arguments, "created")).await?;
    player.prove("the file is the PDF, byte for byte", player.on_disk(PDF) == PDF_BYTES.as_bytes());
    let other = json!({ "path": PDF, "content": BASE64_STANDARD.encode("another PDF") });
    player.call(write("Put another one under the same name", other, "file_exists")).await?;
    player.prove("the first PDF is still there", player.on_disk(PDF) == PDF_BYTES.as_bytes());
    Ok(())
}

async fn meet_an_editor(player: &mut Player<'_>, hash_read: &str) -> Result<(), DemoError> {
    player.editor_saves(NOTE, EDITOR_TEXT)?;
    let wants = "Replace the note, which a person has just saved in an editor";
    player.call(write(wants, late(hash_read), "stale_precondition or concurrent_write")).await?;
    player.prove("the person's text is there", player.on_disk(NOTE) == EDITOR_TEXT.as_bytes());
    let look = player.call(read(NOTE, true, "Look at the hash of what the person saved")).await?;
    player
        .prove("it is the hash of the person's text", text_of(&look, "hash") == hash(EDITOR_TEXT.as_bytes()));
    Ok(())
}

async fn stray(player: &mut Player<'_>) -> Result<(), DemoError> {
    let settings = ".obsidian/app.json";
    let before = player.on_disk(settings);
    let arguments = json!({ "path": settings, "encoding": "text", "overwrite": true, "content": "{}" });
    player.call(write("Change the settings of Obsidian itself", arguments, "hidden_path")).await?;
    player.prove("the settings are as they were", player.on_disk(settings) == before);
    let arguments = json!({ "path": "../x", "encoding": "text", "content": "out" });
    player.call(write("Write outside the vault", arguments, "path_traversal")).await?;
    player.prove("there is nothing outside", player.on_disk("../x").is_empty());
    Ok(())
}

async fn crowd(player: &mut Player<'_>) -> Result<(), DemoError> {
    let arguments = json!({ "path": "Inbox/once.md", "encoding": "text", "content": "only once\n" });
    let call =
        write("Create one file from 20 calls at the same moment", arguments, "1 created, 19 file_exists");
    player.call_at_once(call, AT_ONCE).await?;
    player.prove("the file is whole", player.on_disk("Inbox/once.md") == b"only once\n");
    Ok(())
}

async fn look_at_the_pdf(player: &mut Player<'_>) -> Result<(), DemoError> {
    let look = player.call(read(PDF, true, "Check that the PDF is still the one it put there")).await?;
    player.prove("its hash is that of the PDF", text_of(&look, "hash") == hash(PDF_BYTES.as_bytes()));
    Ok(())
}

fn read(path: &str, hash_only: bool, wants: &'static str) -> Call {
    let arguments =
        if hash_only { json!({ "path": path, "hash_only": true }) } else { json!({ "path": path }) };
    Call { wants, tool: "read_file", arguments, expected: "answered" }
}

const fn write(wants: &'static str, arguments: Value, expected: &'static str) -> Call {
    Call { wants, tool: "write_file", arguments, expected }
}

fn text_of(facts: &Value, field: &str) -> String {
    facts[field].as_str().unwrap_or_default().to_owned()
}

fn hash(bytes: &[u8]) -> String {
    ContentHash::of(bytes).to_string()
}
