//! `vault_select`: choose a vault for the calls that follow.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    error::{ArgumentProblem, ArgumentsError, Error, VaultError},
    serving::{Scope, Selection, SessionKey, State},
    tools::{Access, Block, Cx, Halt, Hints, Render, VaultTool, vault},
    vault::{Selected, Selector, VaultRecord},
};

/// The tool.
pub(super) struct Select;

/// Arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Vault id from `vault_list`. Give exactly one of `id`, `name` and `path`.
    id: Option<String>,
    /// Vault name from `vault_list`; case matters only between several.
    name: Option<String>,
    /// Absolute vault folder, listed or not. It must exist and is not created.
    path: Option<String>,
}

/// Answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Output {
    /// The vault that is active now.
    active: VaultRecord,
    /// Its absolute folder.
    target: String,
    /// Another vault, or none, was selected before.
    changed: bool,
    /// What happened, in a sentence.
    summary: String,
    /// The vault that was selected before.
    previous: Option<VaultRecord>,
    /// How far the selection reaches.
    scope: Scope,
    /// What should be known about the vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl VaultTool for Select {
    const NAME: &'static str = "vault.select";
    const TITLE: &'static str = "Select Active Vault";
    const DESCRIPTION: &'static str = "Select the active vault for later calls by id, name or path. Precedence: vaultPath of a call, \
        this selection, OBSIDIAN_VAULT_PATH. KOBSIDIAN_VAULT_ALLOW and KOBSIDIAN_VAULT_DENY may exclude vaults. \
        Obsidian itself is not switched; commands follow the configured instance. Over HTTP a selection lasts \
        for the session or is not kept at all; vaultPath per call always works.";
    const ACCESS: Access = Access::Session;
    const HINTS: Hints = Hints { read_only: false, destructive: false, idempotent: true, open_world: false };
    type Input = Input;
    type Output = Output;

    async fn run(cx: &Cx, input: Input) -> Result<Output, Halt> {
        let selector = selector(input)?;
        let (state, session) = (Arc::clone(&cx.state), cx.caller.session());
        let output = cx.state.work.files(move || select(&state, session, &selector)).await?;
        if output.changed {
            cx.caller.selection_changed();
        }
        Ok(output)
    }
}

fn selector(input: Input) -> Result<Selector, ArgumentsError> {
    let given = [
        ("id", input.id.map(Selector::Id)),
        ("name", input.name.map(Selector::Name)),
        ("path", input.path.map(Selector::Path)),
    ];
    let mut given: Vec<_> = given.into_iter().filter_map(|(field, given)| Some((field, given?))).collect();
    match (given.pop(), given.is_empty()) {
        (Some((field, selector)), true) if is_blank(&selector) => {
            Err(ArgumentsError::invalid(field, ArgumentProblem::Range, format!("`{field}` is empty.")))
        }
        (Some((_, selector)), true) => Ok(selector),
        (None, _) => Err(not_one(ArgumentProblem::Missing, Vec::new())),
        (Some((last, _)), false) => {
            let fields = given.iter().map(|(field, _)| *field).chain([last]);
            Err(not_one(ArgumentProblem::Conflict, fields.map(str::to_owned).collect()))
        }
    }
}

fn is_blank(selector: &Selector) -> bool {
    let (Selector::Id(text) | Selector::Name(text) | Selector::Path(text)) = selector;
    text.trim().is_empty()
}

fn not_one(problem: ArgumentProblem, given: Vec<String>) -> ArgumentsError {
    ArgumentsError::InvalidArguments {
        field: "id".into(),
        problem,
        allowed: ["id", "name", "path"].map(str::to_owned).to_vec(),
        given,
        detail: "Exactly one of `id`, `name` and `path` must be given.".into(),
    }
}

fn select(state: &State, session: Option<SessionKey>, selector: &Selector) -> Result<Output, Error> {
    let Selected { record, path, identity } = state.vaults.find(selector)?;
    let Some(session) = session else {
        return Err(unavailable(state, path));
    };
    let scope = Scope::of(Some(&session));
    let identity = (identity.dev, identity.ino);
    let previous = state.sessions.set(session, Selection { path, identity });
    Ok(Output {
        target: record.path.clone(),
        changed: previous.as_ref().is_none_or(|previous| previous.identity != identity),
        summary: format!("Active vault set to {}.", vault::quoted(&record)),
        previous: previous.and_then(|previous| state.vaults.record(&previous.path)),
        scope,
        notice: notice(&record),
        active: record,
    })
}

fn unavailable(state: &State, vault_path: String) -> Error {
    let active = state.vaults.current(None).active;
    let active = active.and_then(|record| serde_json::to_value(record).ok());
    VaultError::SelectionUnavailable { vault_path, active }.into()
}

fn notice(record: &VaultRecord) -> Option<String> {
    let text = "The folder holds no `.obsidian` folder yet: Obsidian has not opened it as a vault.";
    (!record.initialized).then(|| text.to_owned())
}

impl Render for Output {
    fn blocks(&self) -> Vec<Block> {
        let mut lines = vec![self.summary.clone(), vault::line(&self.active)];
        lines.extend(self.previous.as_ref().map(|previous| format!("Before:\n{}", vault::line(previous))));
        if !self.changed {
            lines.push("It was selected already; nothing changed.".into());
        }
        lines.push(vault::scope_line(self.scope));
        lines.extend(self.notice.clone());
        vec![Block::Text(lines.join("\n"))]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::{vault::TOOLS, vault::testing::Desk};

    #[tokio::test]
    async fn a_selected_vault_is_the_active_one_and_the_client_is_told() {
        let desk = Desk::with_named(&["a", "b"]);
        let (text, data) = desk.ok("vault.select", json!({ "name": "A" })).await;
        let path = desk.path("a");
        assert_eq!(data["summary"], json!(format!("Active vault set to \"a\" ({path}).")));
        assert_eq!((&data["target"], &data["changed"]), (&json!(path), &json!(true)));
        assert_eq!((&data["previous"], &data["scope"]), (&Value::Null, &json!("process")));
        assert_eq!(data["active"]["isActive"], true);
        assert!(text.starts_with(data["summary"].as_str().unwrap()), "{text}");
        assert_eq!(desk.changes(), 1);
    }

    #[tokio::test]
    async fn selecting_the_same_folder_again_changes_nothing() {
        let desk = Desk::with_named(&["a"]);
        desk.ok("vault.select", json!({ "id": "env:a" })).await;
        let (_, data) = desk.ok("vault.select", json!({ "path": desk.path("a") + "/" })).await;
        assert_eq!((&data["changed"], &data["active"]["id"]), (&json!(false), &json!("env:a")));
        assert_eq!(
            (&data["previous"]["id"], &data["previous"]["isActive"]),
            (&json!("env:a"), &json!(false))
        );
        assert_eq!(desk.changes(), 1);
    }

    #[tokio::test]
    async fn exactly_one_selector_is_taken() {
        let desk = Desk::with_named(&["a"]);
        for arguments in [json!({}), json!({ "id": "env:a", "name": "a" }), json!({ "name": " " })] {
            assert_eq!(desk.reason("vault.select", arguments).await, "invalid_arguments");
        }
        let error = desk.error("vault.select", json!({ "id": "env:a", "path": "/" })).await;
        assert_eq!(error.report()["data"]["given"], json!(["id", "path"]));
        assert_eq!(desk.reason("vault.select", json!({ "path": "a\0" })).await, "invalid_arguments");
    }

    #[tokio::test]
    async fn what_cannot_be_selected_leaves_the_selection_as_it_was() {
        let desk = Desk::with_named(&["a", "gone"]);
        desk.remove("gone");
        desk.write("file");
        desk.ok("vault.select", json!({ "name": "a" })).await;
        for (arguments, reason) in [
            (json!({ "name": "b" }), "vault_not_found"),
            (json!({ "id": "A" }), "vault_not_found"),
            (json!({ "name": "gone" }), "vault_missing"),
            (json!({ "path": desk.path("none") }), "vault_missing"),
            (json!({ "path": desk.path("file") }), "vault_not_a_directory"),
            (json!({ "path": "~/a" }), "vault_path_not_absolute"),
            (json!({ "path": "/etc" }), "vault_root_refused"),
        ] {
            assert_eq!(desk.reason("vault.select", arguments).await, reason);
        }
        let (_, data) = desk.ok("vault.current", json!({})).await;
        assert_eq!(data["active"]["id"], "env:a");
        assert!(!desk.has("none"));
    }

    #[tokio::test]
    async fn a_caller_without_a_session_is_told_what_to_pass_instead() {
        let desk = Desk::with_default("Work").without_session();
        desk.make("Other");
        let path = desk.path("Other");
        let error = desk.error("vault.select", json!({ "path": path })).await;
        assert_eq!(error.name(), "selection_unavailable");
        let data = &error.report()["data"];
        assert_eq!((&data["vaultPath"], &data["active"]["id"]), (&json!(path), &json!("default")));
        assert_eq!(desk.reason("vault.select", json!({ "path": "/etc" })).await, "vault_root_refused");
        let (_, reset) = desk.ok("vault.reset", json!({})).await;
        assert_eq!((&reset["changed"], &reset["scope"]), (&json!(false), &json!("none")));
        assert_eq!(desk.changes(), 0);
    }

    #[tokio::test]
    async fn a_folder_that_obsidian_never_opened_is_selected_with_a_notice() {
        let desk = Desk::with_named(&["a", "b"]);
        desk.make("b/.obsidian");
        let (text, fresh) = desk.ok("vault.select", json!({ "name": "a" })).await;
        assert!(text.contains(fresh["notice"].as_str().unwrap()));
        let (_, used) = desk.ok("vault.select", json!({ "name": "b" })).await;
        assert!(used.get("notice").is_none());
    }

    #[test]
    fn the_description_and_the_parameters_state_the_five_facts() {
        let schema = schemars::schema_for!(Input).to_value().to_string();
        let text = format!("{} {schema}", Select::DESCRIPTION);
        for fact in [
            "Precedence: vaultPath of a call, this selection, OBSIDIAN_VAULT_PATH",
            "KOBSIDIAN_VAULT_ALLOW and KOBSIDIAN_VAULT_DENY may exclude vaults",
            "Obsidian itself is not switched; commands follow the configured instance",
            "lasts for the session or is not kept at all; vaultPath per call always works",
            "It must exist and is not created",
        ] {
            assert!(text.contains(fact), "{fact}");
        }
    }

    #[test]
    fn descriptions_are_short() {
        for tool in TOOLS {
            assert!(tool.description.len() <= 400, "{}: {}", tool.name, tool.description.len());
        }
    }
}
