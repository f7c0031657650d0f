//! Plays steps and keeps what came of each.

use std::{sync::Arc, time::Instant};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::{
    super::peer::{Answer, Peer, PeerError},
    DemoError, bundle,
};
use crate::fs::scratch::Scratch;

/// Between outcomes that are all as expected.
const OR: &str = " or ";

/// One step of the script.
#[derive(Debug)]
pub(super) struct Call {
    /// What the agent wants.
    pub(super) wants: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// The outcome, or several with [`OR`] between them.
    pub(super) expected: &'static str,
}

/// A step that was played.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    #[serde(rename = "step")]
    pub(super) number: usize,
    #[serde(skip)]
    pub(super) wants: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) outcome: String,
    pub(super) expected: &'static str,
    pub(super) ok: bool,
    pub(super) ms: u64,
    #[serde(skip)]
    pub(super) answer: String,
    /// What was looked at, and whether it holds: the outcome first.
    #[serde(skip)]
    pub(super) proofs: Vec<(bool, String)>,
}

/// The agent: a client of the server, and somebody beside it who works on the same folder.
pub(super) struct Player<'demo> {
    peer: Arc<Peer>,
    scratch: &'demo Scratch,
    steps: Vec<Step>,
}

impl<'demo> Player<'demo> {
    pub(super) fn new(peer: Peer, scratch: &'demo Scratch) -> Self {
        Self { peer: Arc::new(peer), scratch, steps: Vec::new() }
    }

    /// Ends the session.
    pub(super) async fn leave(self) -> Vec<Step> {
        if let Some(peer) = Arc::into_inner(self.peer) {
            peer.close().await;
        }
        self.steps
    }

    /// Lists the tools; answers them.
    pub(super) async fn list_tools(&mut self, wants: &'static str) -> Result<Vec<Value>, DemoError> {
        let start = Instant::now();
        let tools = self.peer.tools().await?;
        let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let call =
            Call { wants, tool: "tools/list", arguments: Value::Object(Map::new()), expected: "listed" };
        self.keep(call, names.join("\n"), "listed".to_owned(), start);
        Ok(tools)
    }

    /// Makes a call; answers the structured form of a success, or the facts of a failure.
    pub(super) async fn call(&mut self, call: Call) -> Result<Value, DemoError> {
        let start = Instant::now();
        let answer = self.peer.call(call.tool.to_owned(), object(&call.arguments)).await?;
        let outcome = outcome(call.tool, &answer);
        self.keep(call, answer.text.clone(), outcome, start);
        Ok(facts(answer))
    }

    /// Makes the same call many times at once; its outcome is the count of each outcome.
    pub(super) async fn call_at_once(&mut self, call: Call, times: usize) -> Result<(), DemoError> {
        let start = Instant::now();
        let mut running = JoinSet::new();
        for _ in 0..times {
            let (peer, tool, arguments) = (Arc::clone(&self.peer), call.tool, object(&call.arguments));
            running.spawn(async move { peer.call(tool.to_owned(), arguments).await });
        }
        let answers = running.join_all().await.into_iter().collect::<Result<Vec<_>, PeerError>>()?;
        let mut outcomes: Vec<_> = answers.iter().map(|answer| outcome(call.tool, answer)).collect();
        outcomes.sort();
        let counts: Vec<_> = outcomes
            .chunk_by(|one, other| one == other)
            .map(|same| format!("{} {}", same.len(), same[0]))
            .collect();
        let counted = counts.join(", ");
        self.keep(call, counted.clone(), counted, start);
        Ok(())
    }

    /// Adds something else that must hold to the step just played.
    pub(super) fn prove(&mut self, claim: impl Into<String>, holds: bool) {
        if let Some(step) = self.steps.last_mut() {
            step.ok &= holds;
            step.proofs.push((holds, claim.into()));
        }
    }

    /// The bytes of a file of the vault, past the server; empty when there is none.
    pub(super) fn on_disk(&self, name: &str) -> Vec<u8> {
        self.scratch.get(&bundle::inside(name)).unwrap_or_default()
    }

    /// Another program saves a file of the vault.
    pub(super) fn editor_saves(&self, name: &str, text: &str) -> Result<(), DemoError> {
        Ok(self.scratch.put(&bundle::inside(name), text.as_bytes())?)
    }

    fn keep(&mut self, call: Call, answer: String, outcome: String, start: Instant) {
        let Call { wants, tool, arguments, expected } = call;
        let ok = expected.split(OR).any(|one| one == outcome);
        let judged =
            if ok { format!("as expected: {outcome}") } else { format!("{outcome}, not {expected}") };
        let (number, proofs) = (self.steps.len() + 1, vec![(ok, judged)]);
        let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.steps.push(Step { number, wants, tool, arguments, outcome, expected, ok, ms, answer, proofs });
    }
}

fn object(arguments: &Value) -> Map<String, Value> {
    arguments.as_object().cloned().unwrap_or_default()
}

/// In one word: the reason of a failure, or what a success did.
fn outcome(tool: &str, answer: &Answer) -> String {
    let data = &answer.whole["structuredContent"];
    let word = match (&answer.error, tool) {
        (Some(error), _) => error["data"]["reason"].as_str().unwrap_or("failed"),
        (None, "write_file") => written(data),
        (None, "vault_current") => data["reason"].as_str().unwrap_or_default(),
        (None, _) => "answered",
    };
    word.to_owned()
}

fn written(data: &Value) -> &'static str {
    match (data["dryRun"] == true, data["created"] == true, data["changed"] == true) {
        (true, ..) => "nothing_written",
        (_, true, _) => "created",
        (.., true) => "replaced",
        _ => "unchanged",
    }
}

fn facts(mut answer: Answer) -> Value {
    match answer.error {
        Some(mut error) => error["data"].take(),
        None => answer.whole["structuredContent"].take(),
    }
}
