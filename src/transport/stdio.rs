//! One server over a pair of pipes: one line, one message.

use std::{io, sync::Arc};

use rmcp::{
    RoleServer, ServerHandler,
    service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, ServiceExt, TxJsonRpcMessage},
    transport::{Transport, stdio_pipes},
};
use serde::Serialize;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::Mutex,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    ServeError,
    line_guard::{Line, Lines},
};

/// Serves the client of this process until its input ends or `stop` fires; both are success, at any moment.
pub async fn serve<S: ServerHandler>(
    server: S,
    stop: CancellationToken,
    max_line: usize,
) -> Result<(), ServeError> {
    serve_over(server, stdio_pipes(), stop, max_line).await
}

/// The same over any pair of streams.
pub async fn serve_over<S, R, W>(
    server: S,
    (input, output): (R, W),
    stop: CancellationToken,
    max_line: usize,
) -> Result<(), ServeError>
where
    S: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let pipes =
        Pipes { lines: Lines::new(input, max_line), output: Arc::new(Mutex::new(output)), refusing: None };
    match server.serve_with_ct(pipes, stop).await {
        Ok(running) => match running.waiting().await? {
            QuitReason::JoinError(error) => Err(error.into()),
            _ => Ok(()),
        },
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

struct Pipes<R, W> {
    lines: Lines<R>,
    output: Arc<Mutex<W>>,
    /// The answer to a refused line, on its way. A task, since a dropped `receive` must not cut it in two.
    refusing: Option<JoinHandle<()>>,
}

impl<R, W: AsyncWrite + Send + Unpin + 'static> Pipes<R, W> {
    fn refuse(&mut self, answer: serde_json::Value) {
        let output = Arc::clone(&self.output);
        self.refusing = Some(tokio::spawn(async move {
            if let Err(error) = write_line(&output, &answer).await {
                tracing::error!(%error, "an answer could not be written");
            }
        }));
    }
}

impl<R, W> Transport<RoleServer> for Pipes<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write_line(&output, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                refusing.await.ok();
                self.refusing = None;
            }
            match self.lines.next().await? {
                Line::Message(message) => return Some(*message),
                Line::Refused(answer) => self.refuse(answer),
                Line::Ignored => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

/// Writes one whole line; nobody else's bytes come between.
async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
