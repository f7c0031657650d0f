//! `vault_list`: the known vaults.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    error::{ArgumentProblem, ArgumentsError},
    serving::Scope,
    text::cursor::{CursorProblem, Paged},
    tools::{Access, Block, Cx, Halt, Hints, Render, VaultTool, vault},
    vault::{Listing, RegistryFile, VaultRecord, Warning},
};

/// The most vaults in one answer.
const LIMIT_MAX: usize = 1000;
/// Warnings beyond this many are only counted.
const WARNINGS: usize = 20;

/// The tool.
pub(super) struct List;

/// Arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Input {
    /// Read the lists of vaults anew, whatever is cached.
    #[serde(default)]
    refresh: bool,
    /// Also list vaults whose folder is gone.
    #[serde(default = "missing_too")]
    include_missing: bool,
    /// The most vaults in one answer.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// `nextCursor` of the answer before, to go on.
    cursor: Option<String>,
}

const fn missing_too() -> bool {
    true
}

const fn usual_limit() -> usize {
    200
}

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// All that fit, this page and others.
    total: usize,
    /// The vaults of this page.
    items: Vec<VaultRecord>,
    /// Id of the vault a call without `vaultPath` acts on.
    active_vault_id: Option<String>,
    /// How far a selection reaches.
    scope: Scope,
    /// The first of Obsidian's own lists that was read.
    obsidian_config_path: Option<String>,
    /// What is wrong with the first list that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    obsidian_config_error: Option<String>,
    /// Obsidian's own lists of vaults.
    obsidian_configs: Vec<RegistryFile>,
    /// What was dropped or ignored.
    warnings: Vec<Warning>,
    /// The operator may exclude vaults.
    gated: bool,
    /// Send it as `cursor` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl VaultTool for List {
    const NAME: &'static str = "vault.list";
    const TITLE: &'static str = "List Known Vaults";
    const DESCRIPTION: &'static str = "List the known Obsidian vaults with id, name, folder and which one is \
        active. They come from OBSIDIAN_VAULT_PATH, OBSIDIAN_VAULT_<NAME> and Obsidian's own list; \
        KOBSIDIAN_VAULT_ALLOW and KOBSIDIAN_VAULT_DENY may exclude some.";
    const ACCESS: Access = Access::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Input = Input;
    type Output = Output;

    async fn run(cx: &Cx, input: Input) -> Result<Output, Halt> {
        check_limit(input.limit)?;
        let selected = vault::selection(cx).map(|selection| selection.path);
        let (state, refresh) = (Arc::clone(&cx.state), input.refresh);
        let listing =
            cx.state.work.files(move || Ok(state.vaults.list(selected.as_deref(), refresh))).await?;
        page(listing, &input, vault::scope(cx))
    }
}

fn check_limit(limit: usize) -> Result<(), ArgumentsError> {
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(());
    }
    let detail = format!("`limit` must be from 1 to {LIMIT_MAX}.");
    Err(ArgumentsError::invalid("limit", ArgumentProblem::Range, detail))
}

fn page(listing: Listing, input: &Input, scope: Scope) -> Result<Output, Halt> {
    let Listing { mut records, files, warnings, gated } = listing;
    records.retain(|record| input.include_missing || record.exists || record.is_active);
    let paged = paged(&records, input.include_missing);
    let start = input.cursor.as_deref().map_or(Ok(0), |cursor| paged.position(cursor)).map_err(halt)?;
    let end = start.saturating_add(input.limit);
    Ok(Output {
        total: records.len(),
        active_vault_id: records.iter().find(|record| record.is_active).map(|record| record.id.clone()),
        next_cursor: (end < records.len()).then(|| paged.cursor(end)),
        items: records.into_iter().skip(start).take(input.limit).collect(),
        scope,
        obsidian_config_path: files.iter().find(|file| file.error.is_none()).map(|file| file.path.clone()),
        obsidian_config_error: files.iter().find_map(|file| file.error.clone()),
        obsidian_configs: files,
        warnings: bounded(warnings),
        gated,
    })
}

fn paged(records: &[VaultRecord], include_missing: bool) -> Paged {
    let question = ["vault_list", if include_missing { "all" } else { "existing" }];
    Paged::of(question.into_iter().chain(records.iter().map(|record| record.id.as_str())))
}

fn halt(problem: CursorProblem) -> Halt {
    match problem {
        CursorProblem::Malformed => Halt::MalformedCursor,
        CursorProblem::Stale => ArgumentsError::StaleCursor {}.into(),
    }
}

fn bounded(mut warnings: Vec<Warning>) -> Vec<Warning> {
    let more = warnings.len().saturating_sub(WARNINGS);
    if more > 0 {
        warnings.truncate(WARNINGS);
        warnings.push(Warning { place: "vault_list".into(), message: format!("{more} more warnings") });
    }
    warnings
}

impl Render for Output {
    fn blocks(&self) -> Vec<Block> {
        let mut lines = vec![self.headline()];
        lines.extend(self.items.iter().map(vault::line));
        lines.push(vault::scope_line(self.scope));
        lines.extend(self.obsidian_configs.iter().map(file_line));
        lines.extend(
            self.warnings.iter().map(|warning| format!("Warning: {}: {}", warning.place, warning.message)),
        );
        if self.gated {
            lines.push(
                "The operator's lists (KOBSIDIAN_VAULT_ALLOW, KOBSIDIAN_VAULT_DENY) may exclude vaults."
                    .into(),
            );
        }
        lines
            .extend(self.next_cursor.as_ref().map(|cursor| format!("More: call again with cursor {cursor}")));
        vec![Block::Text(lines.join("\n"))]
    }
}

impl Output {
    fn headline(&self) -> String {
        let active = self.active_vault_id.as_deref().unwrap_or("none");
        format!("Known vaults: {} (active: {active})", self.total)
    }
}

fn file_line(file: &RegistryFile) -> String {
    let RegistryFile { label, path, vaults, error } = file;
    let error = error.as_ref().map(|error| format!("; {error}")).unwrap_or_default();
    format!("Obsidian's list ({label}): {path}: {vaults} vaults{error}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::vault::testing::Desk;

    #[tokio::test]
    async fn known_vaults_are_listed_with_their_flags() {
        let desk = Desk::with_default("Work");
        let (text, data) = desk.ok("vault.list", json!({})).await;
        assert_eq!((&data["total"], &data["activeVaultId"]), (&json!(1), &json!("default")));
        assert_eq!((&data["scope"], &data["gated"]), (&json!("process"), &json!(false)));
        assert_eq!(data["obsidianConfigPath"], json!(null));
        let line = format!("* Work  default  {}  [active]  [default]  [not initialized]", desk.path("Work"));
        assert!(text.contains(&line), "{text}");
    }

    #[tokio::test]
    async fn a_selection_shows_in_the_list_right_after_it() {
        let desk = Desk::with_default("Work");
        desk.make("Other");
        desk.ok("vault.select", json!({ "path": desk.path("Other") })).await;
        let (_, data) = desk.ok("vault.list", json!({})).await;
        assert_eq!(data["total"], 2);
        assert_eq!(data["activeVaultId"], data["items"][1]["id"]);
        assert_eq!(data["items"][1]["source"], "ad-hoc");
        desk.ok("vault.reset", json!({})).await;
        let (_, data) = desk.ok("vault.list", json!({})).await;
        assert_eq!((&data["total"], &data["activeVaultId"]), (&json!(1), &json!("default")));
    }

    #[tokio::test]
    async fn pages_follow_one_another_and_end() {
        let desk = Desk::with_named(&["a", "b", "c"]);
        let (text, first) = desk.ok("vault.list", json!({ "limit": 2 })).await;
        assert_eq!((first["items"].as_array().unwrap().len(), &first["total"]), (2, &json!(3)));
        let cursor = &first["nextCursor"];
        assert!(text.contains(cursor.as_str().unwrap()));
        let (_, last) = desk.ok("vault.list", json!({ "limit": 2, "cursor": cursor })).await;
        assert_eq!(last["items"].as_array().unwrap().len(), 1);
        assert_eq!(last["items"][0]["name"], "c");
        assert!(last.get("nextCursor").is_none());
    }

    #[tokio::test]
    async fn a_cursor_of_another_list_is_stale_and_no_cursor_is_malformed() {
        let desk = Desk::with_named(&["a", "b", "c"]);
        let (_, first) = desk.ok("vault.list", json!({ "limit": 1 })).await;
        let cursor = &first["nextCursor"];
        let other = json!({ "limit": 1, "cursor": cursor, "includeMissing": false });
        assert_eq!(desk.reason("vault.list", other).await, "stale_cursor");
        let halt = desk.call("vault.list", json!({ "cursor": "nonsense" })).await.unwrap_err();
        assert!(matches!(halt, Halt::MalformedCursor));
    }

    #[tokio::test]
    async fn a_missing_vault_is_left_out_on_demand_but_never_the_active_one() {
        let desk = Desk::with_named(&["a", "b"]);
        desk.remove("b");
        let existing = json!({ "includeMissing": false });
        assert_eq!(desk.ok("vault.list", json!({})).await.1["total"], 2);
        assert_eq!(desk.ok("vault.list", existing.clone()).await.1["total"], 1);
        desk.ok("vault.select", json!({ "name": "a" })).await;
        desk.remove("a");
        let (text, data) = desk.ok("vault.list", existing).await;
        assert_eq!((&data["total"], &data["activeVaultId"]), (&json!(1), &json!("env:a")));
        assert!(text.contains("[missing]"));
    }

    #[tokio::test]
    async fn a_limit_out_of_range_is_refused() {
        let desk = Desk::with_default("Work");
        for limit in [0, 1001] {
            assert_eq!(desk.reason("vault.list", json!({ "limit": limit })).await, "invalid_arguments");
        }
    }

    #[tokio::test]
    async fn a_broken_registry_is_shown_and_the_list_goes_on() {
        let desk = Desk::with_registry("{");
        let (text, data) = desk.ok("vault.list", json!({})).await;
        let error = data["obsidianConfigError"].as_str().unwrap();
        assert!(error.starts_with("JSON parse failed:"));
        assert_eq!(data["obsidianConfigs"][0]["label"], "configured");
        assert!(text.contains(error));
    }

    #[tokio::test]
    async fn warnings_beyond_twenty_are_counted() {
        let entries: serde_json::Map<_, _> = (0..23).map(|n| (n.to_string(), json!(7))).collect();
        let desk = Desk::with_registry(&json!({ "vaults": entries }).to_string());
        let (text, data) = desk.ok("vault.list", json!({})).await;
        let warnings = data["warnings"].as_array().unwrap();
        assert_eq!((warnings.len(), &warnings[20]["message"]), (21, &json!("3 more warnings")));
        assert!(text.contains("obsidian.json (configured), vault `0`: the entry is not an object"));
    }
}
