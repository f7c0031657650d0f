//! `serve`: the server on standard input and output.

use std::{pin::pin, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{
    Status, out,
    signals::{Signals, drain},
};
use crate::{
    error::Exit,
    fs::host,
    mcp::Server,
    serving::State,
    transport::{ServeError, limits, stdio},
};

/// Serves until the client is gone or a signal comes. Writes that have started are finished first.
pub(super) async fn run(state: Arc<State>) -> Status {
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return out::failed(&error, Exit::Internal),
    };
    host::widen_standard_input();
    let served = serve(Arc::clone(&state), signals).await;
    drain(&state.work).await;
    served.unwrap_or_else(|error| out::failed(&error, Exit::Internal))
}

async fn serve(state: Arc<State>, mut signals: Signals) -> Result<Status, ServeError> {
    let stop = CancellationToken::new();
    let max_line = limits::max_message(state.config.files.max_write_bytes);
    let mut serving = pin!(stdio::serve(Server::new(state), stop.clone(), max_line));
    let status = tokio::select! {
        result = &mut serving => return result.map(|()| Status::Ended(Exit::Ok)),
        status = signals.next() => status,
    };
    stop.cancel();
    // The calls under way have a moment to answer, but for a second signal.
    tokio::select! {
        result = &mut serving => result.map(|()| status),
        _ = signals.next() => Ok(Status::Interrupted),
    }
}
