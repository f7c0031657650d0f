//! `vault_reset`: forget the selection.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    serving::{Scope, SessionKey, State},
    tools::{Access, Block, Cx, Halt, Hints, Render, VaultTool, vault},
    vault::VaultRecord,
};

/// The tool.
pub(super) struct Reset;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// There was a selection.
    changed: bool,
    /// Absolute folder of the default vault, or empty.
    target: String,
    /// What happened, in a sentence.
    summary: String,
    /// The vault that was selected before.
    previous: Option<VaultRecord>,
    /// How far a selection reaches.
    scope: Scope,
}

impl VaultTool for Reset {
    const NAME: &'static str = "vault.reset";
    const TITLE: &'static str = "Reset Active Vault Selection";
    const DESCRIPTION: &'static str = "Forget the selected vault: later calls without vaultPath act on \
        OBSIDIAN_VAULT_PATH again, or need vaultPath when it is not set. Files are not touched.";
    const ACCESS: Access = Access::Session;
    const HINTS: Hints = Hints { read_only: false, destructive: false, idempotent: true, open_world: false };
    type Input = Input;
    type Output = Output;

    async fn run(cx: &Cx, _input: Input) -> Result<Output, Halt> {
        let (state, session) = (Arc::clone(&cx.state), cx.caller.session());
        let output = cx.state.work.files(move || Ok(reset(&state, session.as_ref()))).await?;
        if output.changed {
            cx.caller.selection_changed();
        }
        Ok(output)
    }
}

fn reset(state: &State, session: Option<&SessionKey>) -> Output {
    let previous = session.and_then(|session| state.sessions.clear(session));
    let default = state.vaults.current(None).active;
    Output {
        changed: previous.is_some(),
        summary: summary(previous.is_some(), default.as_ref()),
        target: default.map(|default| default.path).unwrap_or_default(),
        previous: previous.and_then(|previous| state.vaults.record(&previous.path)),
        scope: Scope::of(session),
    }
}

fn summary(changed: bool, default: Option<&VaultRecord>) -> String {
    let what = if changed { "Selection forgotten." } else { "No vault was selected." };
    default.map_or_else(
        || format!("{what} Calls need `vaultPath` now: there is no default vault."),
        |default| format!("{what} Calls without `vaultPath` act on the default, {}.", vault::quoted(default)),
    )
}

impl Render for Output {
    fn blocks(&self) -> Vec<Block> {
        let mut lines = vec![self.summary.clone()];
        lines.extend(self.previous.as_ref().map(|previous| format!("Before:\n{}", vault::line(previous))));
        lines.push(vault::scope_line(self.scope));
        vec![Block::Text(lines.join("\n"))]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::tools::vault::testing::Desk;

    #[tokio::test]
    async fn the_default_is_active_again_after_a_reset() {
        let desk = Desk::with_default("Work");
        desk.make("Other");
        desk.ok("vault.select", json!({ "path": desk.path("Other") })).await;
        let (text, data) = desk.ok("vault.reset", json!({})).await;
        assert_eq!((&data["changed"], &data["target"]), (&json!(true), &json!(desk.path("Work"))));
        assert_eq!(
            (&data["previous"]["name"], &data["previous"]["isActive"]),
            (&json!("Other"), &json!(false))
        );
        assert!(text.starts_with(data["summary"].as_str().unwrap()), "{text}");
        assert_eq!(desk.changes(), 2);
    }

    #[tokio::test]
    async fn a_reset_without_a_selection_changes_nothing() {
        let desk = Desk::with_named(&["a"]);
        let (_, data) = desk.ok("vault.reset", json!({})).await;
        assert_eq!((&data["changed"], &data["target"]), (&json!(false), &json!("")));
        assert_eq!(data["previous"], Value::Null);
        assert_eq!(desk.changes(), 0);
    }
}
