//! From a tool of the catalogue to what clients list and call.

use std::{collections::HashMap, sync::Arc, time::Instant};

use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use tracing::debug;

use crate::{
    config::ToolNameStyle,
    error::{ArgumentsError, ServingError},
    serving::State,
    tools::{Access, Cx, Entry, Halt, Hints, Object, Reply, plain_name},
};

/// Tells a client that cuts long answers how long ours may be.
const ANSWER_LENGTH_KEY: &str = "anthropic/maxResultSizeChars";

/// One known tool.
pub(super) struct Route {
    entry: &'static Entry,
    /// What clients list.
    pub(super) tool: Tool,
    /// The setting that leaves it unlisted.
    closed_by: Option<&'static str>,
}

impl Route {
    fn new(entry: &'static Entry, state: &State) -> Self {
        Self {
            entry,
            tool: describe(entry, state),
            closed_by: closed_by(entry.access, state.config.policy.is_read_only()),
        }
    }

    /// Runs one call and logs that it ran: the tool, its time and its reason, never what was sent.
    pub(super) async fn call(&self, cx: Cx, arguments: Object) -> Result<Reply, Halt> {
        let start = Instant::now();
        let result = match self.closed_by {
            Some(setting) => Err(self.disabled(setting).into()),
            None => self.run(cx, arguments).await,
        };
        let reason = match &result {
            Ok(_) => "ok".to_owned(),
            Err(Halt::Failed(error)) => error.name(),
            Err(Halt::MalformedCursor) => "malformed cursor".to_owned(),
        };
        debug!(tool = %self.tool.name, microseconds = start.elapsed().as_micros(), reason, "call");
        result
    }

    /// In a task of its own: a panic then ends the call, and the client is not left waiting.
    async fn run(&self, cx: Cx, arguments: Object) -> Result<Reply, Halt> {
        let declared = Arc::clone(&self.tool.input_schema);
        let running = tokio::spawn((self.entry.call)(cx, declared, arguments));
        running.await.unwrap_or_else(|_| Err(ServingError::Internal {}.into()))
    }

    fn disabled(&self, setting: &'static str) -> ArgumentsError {
        ArgumentsError::ToolDisabled { tool: self.tool.name.to_string(), setting }
    }
}

/// All known tools in the order of the catalogue, found under either spelling of their names.
pub(super) struct Routes {
    all: Vec<Route>,
    by_name: HashMap<String, usize>,
}

impl Routes {
    /// Describes each tool once, for good: nothing of a listing changes while the process runs.
    pub(super) fn new(entries: impl Iterator<Item = &'static Entry>, state: &State) -> Self {
        let all: Vec<_> = entries.map(|entry| Route::new(entry, state)).collect();
        let by_name = all.iter().enumerate().map(|(n, route)| (plain_name(&route.tool.name), n)).collect();
        Self { all, by_name }
    }

    /// The tool of that name, listed or not.
    pub(super) fn find(&self, name: &str) -> Option<&Route> {
        self.by_name.get(&plain_name(name)).map(|n| &self.all[*n])
    }

    /// What `tools/list` answers.
    pub(super) fn listing(&self) -> Vec<Tool> {
        self.all.iter().filter(|route| route.closed_by.is_none()).map(|route| route.tool.clone()).collect()
    }
}

fn closed_by(access: Access, is_read_only: bool) -> Option<&'static str> {
    (access == Access::Edit && is_read_only).then_some("OBSIDIAN_READ_ONLY")
}

fn describe(entry: &Entry, state: &State) -> Tool {
    let tool = Tool::new(
        listed_name(entry.name, state.config.tool_names),
        entry.description,
        (entry.input_schema)(state),
    )
    .with_title(entry.title)
    .with_raw_output_schema(Arc::new((entry.output_schema)()))
    .with_annotations(annotations(entry.hints));
    if entry.long_answers {
        tool.with_meta(answer_length(state.config.files.max_response_chars))
    } else {
        tool
    }
}

fn listed_name(name: &'static str, style: ToolNameStyle) -> String {
    match style {
        ToolNameStyle::Underscore => plain_name(name),
        ToolNameStyle::Dotted => name.to_owned(),
    }
}

/// All four are written out, since the defaults of the protocol are pessimistic.
fn annotations(hints: Hints) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world)
}

fn answer_length(chars: usize) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(ANSWER_LENGTH_KEY.into(), chars.into());
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_change_the_vault_are_closed_under_read_only() {
        assert_eq!(closed_by(Access::Edit, true), Some("OBSIDIAN_READ_ONLY"));
        assert_eq!(closed_by(Access::Edit, false), None);
        assert_eq!(closed_by(Access::Session, true), None);
        assert_eq!(closed_by(Access::Read, true), None);
    }

    #[test]
    fn a_name_is_listed_in_the_style_that_was_set() {
        assert_eq!(listed_name("vault.select", ToolNameStyle::Underscore), "vault_select");
        assert_eq!(listed_name("vault.select", ToolNameStyle::Dotted), "vault.select");
    }
}
