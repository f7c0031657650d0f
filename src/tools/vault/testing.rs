//! A server with scratch vaults and a caller that counts what it is told, for the tests of this family.
#![expect(clippy::disallowed_methods, reason = "tests build the folders they look at")]

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;

use super::TOOLS;
use crate::{
    cancel::CancelFlag,
    config::{Config, ToolNameStyle},
    error::Error,
    fs::HostPath,
    path::PathPolicy,
    serving::{SessionKey, State},
    tools::{Block, Caller, Cx, Halt, Reply},
    vault::{FileConfig, VaultConfig},
};

/// A running server, less MCP.
pub(super) struct Desk {
    scratch: tempfile::TempDir,
    state: Arc<State>,
    caller: Arc<Client>,
}

struct Client {
    session: Option<SessionKey>,
    changes: AtomicUsize,
}

impl Caller for Client {
    fn cancel_flag(&self) -> CancelFlag {
        CancelFlag::default()
    }

    fn session(&self) -> Option<SessionKey> {
        self.session.clone()
    }

    fn selection_changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Desk {
    /// With this default vault and no other.
    pub(super) fn with_default(name: &str) -> Self {
        Self::new(&[name], |root, config| config.default = Some(root.join(name)))
    }

    /// With these named vaults and no default.
    pub(super) fn with_named(names: &[&str]) -> Self {
        Self::new(names, |root, config| {
            config.named = names.iter().map(|name| ((*name).to_owned(), root.join(name))).collect();
        })
    }

    /// With this text as Obsidian's list of vaults.
    pub(super) fn with_registry(text: &str) -> Self {
        Self::new(&[], |root, config| {
            let file = root.join("obsidian.json");
            fs::write(file.as_path(), text).unwrap();
            config.discovery = true;
            config.registry_file = Some(file);
        })
    }

    fn new(folders: &[&str], set: impl FnOnce(&HostPath, &mut VaultConfig)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        let mut vaults = VaultConfig { ad_hoc: true, ..VaultConfig::default() };
        set(&HostPath::parse(scratch.path()).unwrap(), &mut vaults);
        let state = State::new(Config {
            vaults,
            files: FileConfig::default(),
            policy: PathPolicy::default(),
            tool_names: ToolNameStyle::default(),
            log_level: "warn".into(),
        });
        let caller = Client { session: Some(SessionKey::Process), changes: AtomicUsize::new(0) };
        Self { scratch, state: Arc::new(state), caller: Arc::new(caller) }
    }

    /// The same with a caller whose selection cannot be kept.
    pub(super) fn without_session(self) -> Self {
        let caller = Client { session: None, changes: AtomicUsize::new(0) };
        Self { caller: Arc::new(caller), ..self }
    }

    /// The absolute path of a folder of the scratch.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.scratch.path().display())
    }

    /// Makes a folder.
    pub(super) fn make(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
    }

    /// Something is at the path.
    pub(super) fn has(&self, name: &str) -> bool {
        fs::exists(self.path(name)).unwrap()
    }

    /// Makes a file.
    pub(super) fn write(&self, name: &str) {
        fs::write(self.path(name), "").unwrap();
    }

    /// Removes a folder.
    pub(super) fn remove(&self, name: &str) {
        fs::remove_dir_all(self.path(name)).unwrap();
    }

    /// How often the caller was told that its selection changed.
    pub(super) fn changes(&self) -> usize {
        self.caller.changes.load(Ordering::Relaxed)
    }

    /// Calls a tool.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Reply, Halt> {
        let entry = TOOLS.iter().find(|entry| entry.name == tool).unwrap();
        let Value::Object(arguments) = arguments else { unreachable!() };
        let cx = Cx { state: Arc::clone(&self.state), caller: Arc::<Client>::clone(&self.caller) };
        let declared = Arc::new((entry.input_schema)(&cx.state));
        (entry.call)(cx, declared, arguments).await
    }

    /// Text and structured form of a call that succeeds; the text holds every string of the structured form.
    pub(super) async fn ok(&self, tool: &str, arguments: Value) -> (String, Value) {
        let Reply { blocks, data } = self.call(tool, arguments).await.unwrap();
        let [Block::Text(text)] = &blocks[..] else { panic!("one text block: {blocks:?}") };
        for leaf in strings(&data) {
            assert!(text.contains(leaf), "`{leaf}` is not in: {text}");
        }
        (text.clone(), data)
    }

    /// The error of a call that fails.
    pub(super) async fn error(&self, tool: &str, arguments: Value) -> Error {
        match self.call(tool, arguments).await.unwrap_err() {
            Halt::Failed(error) => error,
            Halt::MalformedCursor => panic!("no tool failure"),
        }
    }

    /// The reason of a call that fails.
    pub(super) async fn reason(&self, tool: &str, arguments: Value) -> String {
        self.error(tool, arguments).await.name()
    }
}

fn strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(strings)),
        Value::Object(fields) => Box::new(fields.values().flat_map(strings)),
        _ => Box::new(std::iter::empty()),
    }
}
