//! `vault_current`: which vault is in force, and why.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    serving::Scope,
    tools::{Access, Block, Cx, Halt, Hints, Render, VaultTool, vault},
    vault::{CurrentReason, VaultRecord},
};

/// The tool.
pub(super) struct Current;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// The vault a call without `vaultPath` acts on.
    active: Option<VaultRecord>,
    /// Why it is that one.
    reason: CurrentReason,
    /// How far a selection reaches.
    scope: Scope,
    /// The vault of `OBSIDIAN_VAULT_PATH`.
    env_default: Option<EnvDefault>,
}

/// The vault of the environment.
#[derive(Debug, Serialize, JsonSchema)]
struct EnvDefault {
    /// Its absolute folder.
    path: String,
}

impl VaultTool for Current {
    const NAME: &'static str = "vault.current";
    const TITLE: &'static str = "Current Active Vault";
    const DESCRIPTION: &'static str = "Show the active Obsidian vault: the one a call without vaultPath acts on \
        now, and whether the session selected it or OBSIDIAN_VAULT_PATH is the default.";
    const ACCESS: Access = Access::Read;
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Input = Input;
    type Output = Output;

    async fn run(cx: &Cx, _input: Input) -> Result<Output, Halt> {
        let selected = vault::selection(cx).map(|selection| selection.path);
        let state = Arc::clone(&cx.state);
        let current = cx.state.work.files(move || Ok(state.vaults.current(selected.as_deref()))).await?;
        Ok(Output {
            active: current.active,
            reason: current.reason,
            scope: vault::scope(cx),
            env_default: current.env_default.map(|path| EnvDefault { path }),
        })
    }
}

impl Render for Output {
    fn blocks(&self) -> Vec<Block> {
        let active = self.active.as_ref().map_or_else(|| "No vault is active.".into(), vault::line);
        let reason = format!("Reason: {}", vault::word(self.reason));
        let default = self.env_default.as_ref().map_or("not set", |default| &default.path);
        let default = format!("OBSIDIAN_VAULT_PATH: {default}");
        vec![Block::Text([active, reason, vault::scope_line(self.scope), default].join("\n"))]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::vault::testing::Desk;

    #[tokio::test]
    async fn the_default_is_active_until_another_is_selected() {
        let desk = Desk::with_default("Work");
        desk.make("Other");
        let (text, data) = desk.ok("vault.current", json!({})).await;
        assert_eq!((&data["reason"], &data["active"]["id"]), (&json!("env-default"), &json!("default")));
        assert_eq!(data["envDefault"]["path"], json!(desk.path("Work")));
        assert!(text.contains("Reason: env-default"));
        desk.ok("vault.select", json!({ "path": desk.path("Other") })).await;
        let (_, data) = desk.ok("vault.current", json!({})).await;
        assert_eq!((&data["reason"], &data["active"]["name"]), (&json!("session-selected"), &json!("Other")));
        assert_eq!(data["envDefault"]["path"], json!(desk.path("Work")));
    }

    #[tokio::test]
    async fn a_selected_folder_that_is_gone_is_still_the_active_one() {
        let desk = Desk::with_default("Work");
        desk.make("Other");
        desk.ok("vault.select", json!({ "path": desk.path("Other") })).await;
        desk.remove("Other");
        let (_, data) = desk.ok("vault.current", json!({})).await;
        assert_eq!((&data["reason"], &data["active"]["exists"]), (&json!("session-selected"), &json!(false)));
        assert_eq!(data["active"]["isActive"], true);
    }

    #[tokio::test]
    async fn without_any_vault_the_answer_says_so() {
        let desk = Desk::with_named(&["a"]);
        let (text, data) = desk.ok("vault.current", json!({})).await;
        assert_eq!((&data["active"], &data["reason"]), (&json!(null), &json!("none")));
        assert_eq!(data["envDefault"], json!(null));
        assert!(text.starts_with("No vault is active."));
    }
}
