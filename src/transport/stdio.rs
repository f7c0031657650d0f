//! One server over a pair of pipes: one line, one message.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer, ServerHandler,
    model::JsonRpcMessage,
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
    let ending = CancellationToken::new();
    let pipes = Pipes {
        lines: Lines::new(input, max_line),
        output: Arc::new(Mutex::new(output)),
        refusing: None,
        has_asked: false,
        ending: ending.clone(),
        stop: stop.clone(),
    };
    tokio::select! {
        result = serve_pipes(server, pipes, stop.clone()) => result,
        () = overdue(&ending, &stop) => Ok(()),
    }
}

async fn serve_pipes<S, R, W>(
    server: S,
    pipes: Pipes<R, W>,
    stop: CancellationToken,
) -> Result<(), ServeError>
where
    S: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match server.serve_with_ct(pipes, stop).await {
        Ok(running) => match running.waiting().await? {
            QuitReason::JoinError(error) => Err(error.into()),
            _ => Ok(()),
        },
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The longest that answers are still tried to be given once the client is gone or a signal came: one who does not
/// read them would keep the program for ever.
const LAST_WORDS: Duration = Duration::from_secs(6);

async fn overdue(ending: &CancellationToken, stop: &CancellationToken) {
    tokio::select! {
        () = ending.cancelled() => {}
        () = stop.cancelled() => {}
    }
    tokio::time::sleep(LAST_WORDS).await;
}

struct Pipes<R, W> {
    lines: Lines<R>,
    output: Arc<Mutex<W>>,
    /// The answer to a refused line, on its way. A task, since a dropped `receive` must not cut it in two.
    refusing: Option<JoinHandle<()>>,
    /// A request has come. What comes before the first has nothing to speak of, and is passed over.
    has_asked: bool,
    /// Fires at the end of the input.
    ending: CancellationToken,
    /// Fired when nobody reads the output any more: what is done then could not be told.
    stop: CancellationToken,
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
        let (output, stop) = (Arc::clone(&self.output), self.stop.clone());
        async move {
            let written = write_line(&output, &message).await;
            written.inspect_err(|error| {
                if error.kind() == io::ErrorKind::BrokenPipe {
                    stop.cancel();
                }
            })
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                refusing.await.ok();
                self.refusing = None;
            }
            let Some(line) = self.lines.next().await else {
                self.ending.cancel();
                return None;
            };
            match line {
                Line::Message(message) => {
                    self.has_asked |= matches!(*message, JsonRpcMessage::Request(_));
                    if self.has_asked {
                        return Some(*message);
                    }
                }
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
