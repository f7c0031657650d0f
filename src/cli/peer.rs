//! A client of our own server, on a pipe in memory.

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Status, out};
use crate::{
    error::{ArgumentProblem, Exit},
    mcp::Server,
    transport::{ServeError, stdio},
};

/// How much stands in the pipe before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// Where a result holds the error object.
const ERROR_KEY: &str = "dev.vaultwright/error";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error("no connection to the server: {0}")]
    Opening(Box<ClientInitializeError>),
    /// The protocol knows no such call.
    #[error("{0}")]
    Refused(String),
    #[error("the server did not answer: {0}")]
    Broken(ServiceError),
}

impl PeerError {
    /// Ends the program with it.
    pub(super) fn ended(&self, json: bool) -> Status {
        match self {
            Self::Refused(_) => out::misused(ArgumentProblem::UnknownKey, self, json),
            Self::Opening(_) | Self::Broken(_) => out::broken(self, Exit::Internal, json),
        }
    }
}

/// What a call answered.
pub(super) struct Answer {
    /// The content blocks as text; an image as a note about it.
    pub(super) text: String,
    /// The error object of a tool that failed.
    pub(super) error: Option<Value>,
    /// The whole result.
    pub(super) whole: Value,
}

/// A client with its server.
pub(super) struct Peer {
    client: RunningService<RoleClient, ()>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Peer {
    pub(super) async fn open(server: Server, max_line: usize) -> Result<Self, PeerError> {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let pipes = tokio::io::split(theirs);
        let server = tokio::spawn(stdio::serve_over(server, pipes, CancellationToken::new(), max_line));
        let (input, output) = tokio::io::split(ours);
        let pipe = AsyncRwTransport::new_client(input, output).with_max_line_length(usize::MAX);
        let lifecycle =
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let client = ().serve_with_lifecycle(pipe, lifecycle).await;
        client.map(|client| Self { client, server }).map_err(|error| PeerError::Opening(Box::new(error)))
    }

    pub(super) async fn call(
        &self,
        tool: String,
        arguments: Map<String, Value>,
    ) -> Result<Answer, PeerError> {
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        match self.client.call_tool(call).await {
            Ok(result) => Ok(answer(&result)),
            Err(ServiceError::McpError(error)) => Err(PeerError::Refused(error.message.into_owned())),
            Err(error) => Err(PeerError::Broken(error)),
        }
    }

    /// The tools that are listed, as they are listed.
    pub(super) async fn tools(&self) -> Result<Vec<Value>, PeerError> {
        let tools = self.client.list_all_tools().await.map_err(PeerError::Broken)?;
        Ok(tools.iter().map(|tool| json!(tool)).collect())
    }

    /// Ends the session, and waits until the server is gone and has let go of its vaults.
    pub(super) async fn close(self) {
        let quit = self.client.cancel().await.map(drop);
        let served = self.server.await;
        if quit.is_err() || !matches!(served, Ok(Ok(()))) {
            tracing::debug!(?quit, ?served, "the session did not end in order");
        }
    }
}

fn answer(result: &CallToolResult) -> Answer {
    let text: Vec<_> = result.content.iter().map(as_text).collect();
    let error = result.meta.as_ref().and_then(|meta| meta.get(ERROR_KEY)).cloned();
    Answer { text: text.join("\n\n"), error, whole: json!(result) }
}

fn as_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[{}, {} characters of base64]", image.mime_type, image.data.len())
        }
        _ => "[content of another kind]".to_owned(),
    }
}
