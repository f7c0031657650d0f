//! Standard output for data, standard error for people.

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
};

use serde::Serialize;

use super::Status;
use crate::error::Exit;

/// Writes data and a newline. A closed standard output is a quiet end of the program.
pub(super) fn data(text: &str) -> Result<(), Status> {
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{newline}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Status::OutputClosed,
        // Not one of the codes that promise that nothing was written: what was done is done.
        _ => failed(&format_args!("the answer could not be printed: {error}"), Exit::Internal),
    })
}

/// Writes one JSON document.
pub(super) fn json(document: &impl Serialize) -> Result<(), Status> {
    let text = serde_json::to_string(document).map_err(|error| failed(&error, Exit::Internal))?;
    data(&text)
}

/// Tells a person something.
pub(super) fn tell(message: &dyn Display) {
    // Where nobody listens on standard error there is nobody to tell.
    writeln!(io::stderr(), "{message}").ok();
}

/// Tells a person why the program ends.
pub(super) fn failed(why: &dyn Display, exit: Exit) -> Status {
    tell(&format_args!("vaultwright: {why}"));
    Status::Ended(exit)
}

/// Prints what clap has to say: help and version as data, complaints for people.
pub(super) fn usage(error: &clap::Error) -> Status {
    match error.print() {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Status::OutputClosed,
        _ if error.use_stderr() => Status::Ended(Exit::Usage),
        _ => Status::Ended(Exit::Ok),
    }
}
