//! The tools as MCP shapes them, without MCP: names, schemas, arguments, answers.

pub mod arguments;
pub mod blocks;
pub mod file;
pub mod schema;
pub mod vault;

use std::{future::Future, pin::Pin, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub use blocks::{Block, Render, fenced};

use crate::{
    cancel::CancelFlag,
    error::Error,
    serving::{SessionKey, State},
};

/// A JSON object in reading order.
pub type Object = Map<String, Value>;

/// What a call does to the vault; the one source for read-only mode, scopes and the README's grouping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads, lists, searches.
    Read,
    /// Changes what the session selected.
    Session,
    /// Changes the vault; unlisted under `OBSIDIAN_READ_ONLY`.
    Edit,
}

/// The four annotations of a tool, as its specification states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "MCP has these four hints")]
pub struct Hints {
    /// Changes nothing.
    pub read_only: bool,
    /// May replace or remove what was there.
    pub destructive: bool,
    /// The same call again changes nothing more.
    pub idempotent: bool,
    /// Reaches beyond the vault.
    pub open_world: bool,
}

/// Why a run ended without an output.
#[derive(Debug)]
pub enum Halt {
    /// The call failed.
    Failed(Error),
    /// The `cursor` argument is no cursor at all, which MCP wants as a protocol error.
    MalformedCursor,
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The client of one call, as the transport knows it.
pub trait Caller: Send + Sync {
    /// Set when the client no longer wants the answer.
    fn cancel_flag(&self) -> CancelFlag;
    /// Whose selection the call reads and sets; none where no later call could know of it.
    fn session(&self) -> Option<SessionKey>;
    /// Tells the client, without waiting, that the selection changed and so the resources did.
    fn selection_changed(&self);
}

/// What a run can reach.
#[derive(Clone)]
pub struct Cx {
    /// The process.
    pub state: Arc<State>,
    /// The client.
    pub caller: Arc<dyn Caller>,
}

/// One tool.
pub trait VaultTool: 'static {
    /// The seed's spelling, dots included.
    const NAME: &'static str;
    /// What people see.
    const TITLE: &'static str;
    /// What models see; the first sentence holds the words a search would use.
    const DESCRIPTION: &'static str;
    /// What it does to the vault.
    const ACCESS: Access;
    /// Its annotations.
    const HINTS: Hints;
    /// Its answers may be as long as `MAX_RESPONSE_CHARS`, which clients that cut earlier are told.
    const LONG_ANSWERS: bool = false;
    /// Its arguments.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Its answer.
    type Output: Serialize + JsonSchema + Render + Send;

    /// Changes of the input schema that depend on start-up settings.
    fn adapt(_state: &State, _schema: &mut Object) {}

    /// Runs one call.
    fn run(cx: &Cx, input: Self::Input) -> impl Future<Output = Result<Self::Output, Halt>> + Send;
}

/// The answer of a run: what a person reads, and the structured form.
#[derive(Debug)]
pub struct Reply {
    /// The content blocks.
    pub blocks: Vec<Block>,
    /// The structured content.
    pub data: Value,
}

/// A call under way.
pub type Running = Pin<Box<dyn Future<Output = Result<Reply, Halt>> + Send>>;

/// One tool with its types erased.
pub struct Entry {
    /// The seed's spelling.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// What models see.
    pub description: &'static str,
    /// What it does to the vault.
    pub access: Access,
    /// Its annotations.
    pub hints: Hints,
    /// Its answers may be as long as `MAX_RESPONSE_CHARS`.
    pub long_answers: bool,
    /// The schema of its arguments under these settings.
    pub input_schema: fn(&State) -> Object,
    /// The schema of its structured answer.
    pub output_schema: fn() -> Object,
    /// Types the arguments by the schema that was listed, and runs the tool.
    pub call: fn(Cx, Arc<Object>, Object) -> Running,
}

/// Erases the types of a tool.
pub const fn entry<T: VaultTool>() -> Entry {
    Entry {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        access: T::ACCESS,
        hints: T::HINTS,
        long_answers: T::LONG_ANSWERS,
        input_schema: input_schema::<T>,
        output_schema: schema::output::<T::Output>,
        call: call::<T>,
    }
}

fn input_schema<T: VaultTool>(state: &State) -> Object {
    let mut schema = schema::input::<T::Input>();
    T::adapt(state, &mut schema);
    schema
}

fn call<T: VaultTool>(cx: Cx, declared: Arc<Object>, arguments: Object) -> Running {
    Box::pin(async move {
        let input = arguments::read::<T::Input>(&declared, arguments)?;
        let output = T::run(&cx, input).await?;
        let data = serde_json::to_value(&output).map_err(|_| crate::error::ServingError::Internal {})?;
        Ok(Reply { blocks: output.blocks(), data })
    })
}

/// All tools, in the order clients see.
pub const FAMILIES: &[&[Entry]] = &[vault::TOOLS, file::TOOLS];

/// All tools, flat.
pub fn catalogue() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The name under which a tool is known everywhere but in the listing: dots are underscores.
pub fn plain_name(name: &str) -> String {
    name.replace('.', "_")
}
