//! Clients of the server: rmcp's own on a pipe in memory, and bare lines to the built program.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jsonschema::Validator;
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion, ServerPeerInfo, Tool},
    service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vaultwright::{mcp::Server, serving::State, transport::stdio};

/// The longest wait for anything; what comes later is a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which way of the protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: every request stands alone.
    Modern,
    /// 2025-11-25: `initialize` first.
    Legacy,
}

/// Both, for tests of what must be alike.
pub(crate) const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

/// A real client with a real server. Every answer is held against what the tool promises.
pub(crate) struct Client {
    client: RunningService<RoleClient, ()>,
    promises: HashMap<String, Validator>,
}

impl Client {
    /// Connects to a server of that state.
    pub(crate) async fn open(state: Arc<State>, era: Era) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let pipes = tokio::io::split(theirs);
        tokio::spawn(stdio::serve_over(Server::new(state), pipes, CancellationToken::new(), 1 << 26));
        let lifecycle = match era {
            Era::Modern => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
            Era::Legacy => ClientLifecycleMode::Initialize,
        };
        let client = ().serve_with_lifecycle(ours, lifecycle).await.unwrap();
        let tools = client.list_all_tools().await.unwrap();
        Self { client, promises: tools.iter().map(promise).collect() }
    }

    /// What the server said of itself.
    pub(crate) fn server(&self) -> Arc<ServerPeerInfo> {
        self.client.peer_info().unwrap()
    }

    /// The listed tools.
    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.client.list_all_tools().await.unwrap()
    }

    /// Calls a tool; a protocol error fails the test.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.try_call(tool, arguments).await.unwrap()
    }

    /// Calls a tool that may not exist.
    pub(crate) async fn try_call(&self, tool: &str, arguments: Value) -> Result<Reply, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let reply = Reply(self.client.call_tool(call).await?);
        match reply.error() {
            Some(error) => reply.assert_well_failed(error),
            None => reply.assert_keeps(&self.promises[tool]),
        }
        Ok(reply)
    }
}

fn promise(tool: &Tool) -> (String, Validator) {
    let schema = tool.output_schema.as_deref().expect("every tool has an output schema");
    (tool.name.to_string(), jsonschema::validator_for(&json!(schema)).unwrap())
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Reply(pub(crate) CallToolResult);

impl Reply {
    /// All that a model reads.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<_> = self.0.content.iter().filter_map(|block| block.as_text()).collect();
        texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The structured form of a success.
    pub(crate) fn data(&self) -> &Value {
        self.0.structured_content.as_ref().unwrap_or_else(|| panic!("not a success: {}", self.text()))
    }

    /// The error object of a failure.
    pub(crate) fn error(&self) -> Option<&Value> {
        (self.0.is_error == Some(true))
            .then(|| &self.0.meta.as_ref().expect("an error object")["dev.vaultwright/error"])
    }

    /// The facts of a failure, whose reason must be this one.
    pub(crate) fn refused(&self, reason: &str) -> &Value {
        let error = self.error().unwrap_or_else(|| panic!("no failure: {}", self.text()));
        assert_eq!(error["data"]["reason"], reason, "{error}");
        &error["data"]
    }

    fn assert_keeps(&self, promise: &Validator) {
        let data = self.data();
        if let Err(broken) = promise.validate(data) {
            panic!("the answer breaks the output schema: {broken}\n{data:#}");
        }
        let mut shown = self.text();
        for image in self.0.content.iter().filter_map(ContentBlock::as_image) {
            shown.push_str(&image.data);
        }
        assert_eq!(unsaid(data, &shown), [""; 0], "the text leaves out facts:\n{shown}\n{data:#}");
    }

    fn assert_well_failed(&self, error: &Value) {
        assert_eq!(self.0.structured_content, None);
        let text = self.text();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(&last, error);
        let opening = format!("{}\n\n{}\n\n", error["message"].as_str().unwrap(), hint(error));
        assert!(text.starts_with(&opening), "{text}");
    }
}

fn hint(error: &Value) -> &str {
    let hint = error["data"]["recovery"]["hint"].as_str().unwrap();
    assert!(!hint.is_empty());
    hint
}

/// Facts that a text tells by others: the length of a window, by its two ends.
const BY_OTHER_FACTS: &[&str] = &["returned"];

/// The strings and numbers of a structured answer that its text does not hold.
fn unsaid(data: &Value, text: &str) -> Vec<String> {
    match data {
        Value::Array(items) => items.iter().flat_map(|item| unsaid(item, text)).collect(),
        Value::Object(fields) => {
            let told = fields.iter().filter(|(name, _)| !BY_OTHER_FACTS.contains(&name.as_str()));
            told.flat_map(|(_, field)| unsaid(field, text)).collect()
        }
        Value::String(fact) if !text.contains(fact.as_str()) => vec![fact.clone()],
        Value::Number(fact) if !text.contains(&fact.to_string()) => vec![fact.to_string()],
        _ => Vec::new(),
    }
}

/// The built program, spoken to in bare lines.
///
/// Its environment is empty but for a home that is not there and what a test gives it.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    log: JoinHandle<String>,
}

/// How a program ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// The lines of standard output that nobody had received.
    pub(crate) rest: Vec<String>,
    /// All of standard error.
    pub(crate) log: String,
}

impl Process {
    /// Starts the program.
    pub(crate) fn spawn(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_vaultwright"))
            .args(arguments)
            .env_clear()
            .env("HOME", "/nonexistent")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut errors = child.stderr.take().unwrap();
        let log = thread::spawn(move || {
            let mut log = String::new();
            errors.read_to_string(&mut log).unwrap();
            log
        });
        let input = child.stdin.take();
        Self { child, input, lines, log }
    }

    /// Starts the server and opens a connection; answers what the server said of itself.
    pub(crate) fn open(era: Era, environment: &[(&str, &str)]) -> (Self, Value) {
        let mut server = Self::spawn(&[], environment);
        let opening = match era {
            Era::Modern => request(era, 0, "server/discover", json!({})),
            Era::Legacy => request(era, 0, "initialize", initialize()),
        };
        let answer = server.ask(&opening);
        if era == Era::Legacy {
            server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        }
        (server, answer["result"].clone())
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// The next line of standard output, which must be a message.
    pub(crate) fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
        message(&line)
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(&request.to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], request["id"]);
        answer
    }

    /// Waits until the program hears signals instead of obeying them.
    pub(crate) fn wait_for_signals(&self) {
        let status = format!("/proc/{}/status", self.child.id());
        let wanted = 1_u64 << (Signal::TERM.as_raw() - 1) | 1_u64 << (Signal::INT.as_raw() - 1);
        let deadline = Instant::now() + PATIENCE;
        while caught(&std::fs::read_to_string(&status).unwrap()) & wanted != wanted {
            assert!(Instant::now() < deadline, "the program hears no signal");
            thread::yield_now();
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends the input, and waits for the program to end.
    pub(crate) fn close(mut self) -> Ending {
        self.input = None;
        self.wait()
    }

    /// Dies as a client does: the input ends and nobody reads the output. Answers the exit code.
    pub(crate) fn abandon(self) -> Option<i32> {
        let Self { child, input, lines, log } = self;
        drop((input, lines));
        let (_, nothing) = channel();
        Self { child, input: None, lines: nothing, log }.wait().code
    }

    /// Waits for the program to end by itself.
    pub(crate) fn wait(mut self) -> Ending {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            thread::sleep(Duration::from_millis(1));
        };
        Ending { code: status.code(), rest: self.lines.iter().collect(), log: self.log.join().unwrap() }
    }
}

/// A request of either era.
pub(crate) fn request(era: Era, id: u32, method: &str, mut parameters: Value) -> Value {
    if era == Era::Modern {
        parameters["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        });
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters })
}

/// Reads a line of standard output, which must be a message.
pub(crate) fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    assert_eq!(message["jsonrpc"], "2.0");
    message
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// The signals that a process of that status catches, as a mask.
fn caught(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

mod tests {
    use super::*;

    #[test]
    fn a_fact_that_the_text_leaves_out_is_found() {
        let data = json!({ "path": "a.md", "sizes": [1, 22], "changed": true, "previous": null });
        assert_eq!(unsaid(&data, "a.md has 22 bytes, not 1"), [""; 0]);
        assert_eq!(unsaid(&data, "b.md has 22 bytes"), ["a.md", "1"]);
    }
}
