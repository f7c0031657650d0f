//! Signals that end the program.

use std::{io, time::Duration};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Status, out};
use crate::{
    error::Exit,
    serving::{State, Work},
};

/// The longest wait for writes that have started.
const WRITES: Duration = Duration::from_secs(10);

/// The signals that end the program, heard from now on instead of obeyed.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one, and answers how the program then ends.
    pub(super) async fn next(&mut self) -> Status {
        tokio::select! {
            _ = self.terminate.recv() => Status::Ended(Exit::Ok),
            _ = self.interrupt.recv() => Status::Interrupted,
        }
    }
}

/// Lets the writes that have started run to their end.
pub(super) async fn drain(work: &Work) {
    if !work.drain(WRITES).await {
        tracing::warn!("work that had started was left behind");
    }
}

/// Runs a command until it ends or a signal ends it, never between staging and publication of a write.
pub(super) async fn or_interrupted(state: &State, command: impl Future<Output = Status>) -> Status {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return out::failed(&error, Exit::Internal),
    };
    tokio::select! {
        status = command => status,
        _ = signals.next() => {
            drain(&state.work).await;
            Status::Interrupted
        }
    }
}
