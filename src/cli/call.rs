//! `call`: one tool through the real protocol, in this process.

use std::{
    io::{self, Read},
    path::absolute,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value, json};

use super::{
    Status,
    chosen::Chosen,
    out,
    peer::{Answer, Peer, PeerError},
};
use crate::{
    cancel::CancelFlag,
    error::{ArgumentProblem, Exit},
    fs::host::{self, HostPath},
    mcp::Server,
    serving::State,
    transport::limits,
};

/// One call.
#[derive(Debug, clap::Args)]
pub(super) struct Call {
    /// The name of the tool, in either spelling
    tool: String,
    /// Its arguments: JSON, @FILE, or - for standard input
    #[arg(default_value = "{}", value_name = "JSON|@FILE|-")]
    arguments: String,
}

impl Call {
    pub(super) async fn run(self, state: &Arc<State>, chosen: Chosen) -> Status {
        let json = chosen.json;
        let state = &match chosen.as_default(state) {
            Ok(state) => state,
            Err(error) => return chosen.failed(&error),
        };
        let limit = limits::max_message(state.config.files.max_write_bytes);
        let (source, cancel) = (self.arguments, chosen.cancel.clone());
        let arguments = match state.work.files(move || Ok(arguments(&source, limit, &cancel))).await {
            Ok(Ok(arguments)) => arguments,
            Err(error) => return chosen.failed(&error),
            Ok(Err(why)) => return out::misused(ArgumentProblem::Type, &why, json),
        };
        let failure = Arc::new(OnceLock::new());
        let seen = Arc::clone(&failure);
        let server = Server::new(Arc::clone(state)).observed(move |error| {
            seen.get_or_init(|| error.reason().exit());
        });
        match call(server, limit, self.tool, arguments).await {
            Ok(answer) => show(&answer, json, failure.get().copied()),
            Err(error) => error.ended(json),
        }
    }
}

async fn call(
    server: Server,
    limit: usize,
    tool: String,
    arguments: Map<String, Value>,
) -> Result<Answer, PeerError> {
    let peer = Peer::open(server, limit).await?;
    let answer = peer.call(tool, arguments).await;
    // A server that is cut off leaves its staging folder in the vault.
    peer.close().await;
    answer
}

fn show(answer: &Answer, json: bool, failure: Option<Exit>) -> Status {
    let exit = failure.unwrap_or(Exit::Ok);
    let shown = match &answer.error {
        Some(error) if json => out::data(&json!({ "error": error }).to_string()),
        None if json => out::data(&answer.whole.to_string()),
        Some(_) => {
            out::tell(&answer.text);
            Ok(())
        }
        None => out::data(&answer.text),
    };
    shown.err().unwrap_or(Status::Ended(exit))
}

fn arguments(source: &str, limit: usize, cancel: &CancelFlag) -> Result<Map<String, Value>, String> {
    let bytes = match (source, source.strip_prefix('@')) {
        ("-", _) => standard_input(limit, cancel).map_err(|error| format!("standard input: {error}"))?,
        (_, Some(file)) => read_file(file, limit).ok_or_else(|| format!("{file}: cannot be read"))?,
        (json, None) => json.as_bytes().to_vec(),
    };
    serde_json::from_slice(&bytes).map_err(|error| format!("the arguments are no JSON object: {error}"))
}

fn standard_input(limit: usize, cancel: &CancelFlag) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    host::standard_input(cancel)?.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_file(file: &str, limit: usize) -> Option<Vec<u8>> {
    let path = HostPath::parse(absolute(file).ok()?)?;
    host::read(&path, limit as u64).ok().map(|(bytes, _)| bytes)
}
