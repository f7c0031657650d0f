//! Standard output for data, standard error for people.

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
};

use clap::error::ErrorKind as Misuse;
use serde::Serialize;
use serde_json::{Value, json};

use super::Status;
use crate::error::{ArgumentProblem, ArgumentsError, Error, Exit, ServingError};

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

/// Ends with an error object on standard output.
pub(super) fn report(error: &Error) -> Status {
    object(&error.report(), error.reason().exit())
}

fn object(report: &Value, exit: Exit) -> Status {
    data(&json!({ "error": report }).to_string()).err().unwrap_or(Status::Ended(exit))
}

/// Refuses what was asked for: as the error object where JSON was asked for, else in words.
pub(super) fn misused(problem: ArgumentProblem, why: &dyn Display, json: bool) -> Status {
    if !json {
        return failed(why, Exit::Usage);
    }
    let why = why.to_string();
    let detail = format!("{}.", why.trim_end_matches(['.', '\n']));
    report(&ArgumentsError::invalid("arguments", problem, detail).into())
}

/// Ends because the program itself failed: as the error object where JSON was asked for, else in words.
pub(super) fn broken(why: &dyn Display, exit: Exit, json: bool) -> Status {
    if !json {
        return failed(why, exit);
    }
    let mut report = Error::from(ServingError::Internal {}).report();
    report["message"] = why.to_string().into();
    object(&report, exit)
}

/// Prints what clap has to say: help and version as data, complaints for people, or as the error object.
pub(super) fn usage(error: &clap::Error, json: bool) -> Status {
    if json && error.use_stderr() {
        let text = error.to_string();
        // The rest shows how to call the program.
        let first = text.split("\n\n").next().unwrap_or_default();
        return misused(problem(error.kind()), &first.trim_start_matches("error: "), json);
    }
    match error.print() {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Status::OutputClosed,
        _ if error.use_stderr() => Status::Ended(Exit::Usage),
        _ => Status::Ended(Exit::Ok),
    }
}

const fn problem(misuse: Misuse) -> ArgumentProblem {
    match misuse {
        Misuse::UnknownArgument | Misuse::InvalidSubcommand => ArgumentProblem::UnknownKey,
        Misuse::MissingRequiredArgument | Misuse::MissingSubcommand | Misuse::TooFewValues => {
            ArgumentProblem::Missing
        }
        Misuse::ArgumentConflict | Misuse::TooManyValues => ArgumentProblem::Conflict,
        Misuse::InvalidValue => ArgumentProblem::Enum,
        _ => ArgumentProblem::Type,
    }
}
