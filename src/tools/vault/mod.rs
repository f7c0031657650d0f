//! Which vault: `vault_*`.

mod current;
mod list;
mod reset;
mod select;
#[cfg(test)]
mod testing;

use serde::Serialize;
use serde_json::Value;

use crate::{
    serving::{Scope, Selection},
    tools::{Cx, Entry, entry},
    vault::VaultRecord,
};

/// The family, in listing order.
pub const TOOLS: &[Entry] =
    &[entry::<list::List>(), entry::<current::Current>(), entry::<select::Select>(), entry::<reset::Reset>()];

/// What the caller's session selected.
fn selection(cx: &Cx) -> Option<Selection> {
    cx.state.sessions.get(&cx.caller.session()?)
}

/// How far a selection of the caller reaches.
fn scope(cx: &Cx) -> Scope {
    Scope::of(cx.caller.session().as_ref())
}

/// The word that stands for a value in the structured form.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// One line with every fact of a record.
fn line(record: &VaultRecord) -> String {
    let flags = [
        (record.is_active, "  [active]"),
        (record.is_default, "  [default]"),
        (!record.exists, "  [missing]"),
        (record.exists && !record.initialized, "  [not initialized]"),
        (record.open == Some(true), "  [open in Obsidian]"),
        (record.open == Some(false), "  [closed in Obsidian]"),
    ];
    let flags: String = flags.into_iter().filter_map(|(applies, flag)| applies.then_some(flag)).collect();
    let VaultRecord { name, id, path, .. } = record;
    format!("* {name}  {id}  {path}{flags}  ({})", details(record).join("; "))
}

fn details(record: &VaultRecord) -> Vec<String> {
    let mut details = vec![format!("source {}", word(record.source))];
    details.extend(record.canonical_path.as_ref().map(|path| format!("real path {path}")));
    details.extend(record.last_opened.as_ref().map(|time| format!("last opened {time}")));
    for (kind, aliases) in [("ids", &record.alias_ids), ("names", &record.alias_names)] {
        if !aliases.is_empty() {
            details.push(format!("other {kind}: {}", aliases.join(", ")));
        }
    }
    details
}

/// How far a selection reaches, in a sentence.
fn scope_line(scope: Scope) -> String {
    let reach = match scope {
        Scope::Process => "a selection lasts as long as this server process",
        Scope::Session => "a selection lasts as long as this HTTP session",
        Scope::None => "a selection cannot be kept; pass `vaultPath` with each call",
    };
    format!("Scope: {} ({reach}).", word(scope))
}

/// A vault in a sentence.
fn quoted(record: &VaultRecord) -> String {
    format!("\"{}\" ({})", record.name, record.path)
}
