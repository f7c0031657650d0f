//! Signals that end the program.

use std::{io, pin::pin, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::sleep,
};

use super::{Status, out};
use crate::{cancel::CancelFlag, error::Exit, serving::Work};

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

/// Runs a command until it ends or a signal ends it.
///
/// A signal cancels the command, which then has a moment to end by itself: a publication under way is finished, and
/// what was only read or staged is given up. A second signal does not wait.
pub(super) async fn or_interrupted(cancel: &CancelFlag, command: impl Future<Output = Status>) -> Status {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return out::failed(&error, Exit::Internal),
    };
    let mut command = pin!(command);
    tokio::select! {
        status = &mut command => return status,
        _ = signals.next() => cancel.cancel(),
    }
    tokio::select! {
        _ = command => {}
        _ = signals.next() => {}
        () = sleep(WRITES) => tracing::warn!("work that had started was left behind"),
    }
    Status::Interrupted
}
