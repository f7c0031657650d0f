//! What carries the server: pipes today.

pub mod limits;
mod line_guard;
pub mod stdio;

use rmcp::service::ServerInitializeError;

/// A connection could not be started, or broke; no client sees this.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What the client sent first opens no connection. What it was is not repeated.
    #[error("the client did not open a connection: its first message was no request")]
    NotOpened,
    /// No common revision of the protocol, or a broken pipe before the first answer.
    #[error("the connection could not be opened: {0}")]
    Opening(Box<ServerInitializeError>),
    /// The task that serves the connection panicked.
    #[error("the connection broke: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl From<ServerInitializeError> for ServeError {
    fn from(error: ServerInitializeError) -> Self {
        match error {
            ServerInitializeError::ExpectedInitializeRequest(_) => Self::NotOpened,
            error => Self::Opening(Box::new(error)),
        }
    }
}
