//! `hash`: the hash of files of the vault, or of standard input.

use std::{io, sync::Arc};

use serde::Serialize;

use super::{Status, chosen::Chosen, out};
use crate::{
    cancel::CancelFlag,
    error::{ArgumentProblem, Error, Exit, ServingError, WriteError},
    fs::host,
    ops::hash_file,
    serving::State,
    text::{ContentHash, Hasher},
};

/// One look at the hashes of files.
#[derive(Debug, clap::Args)]
pub(super) struct Hash {
    /// Files, relative to the vault; `-` is standard input
    #[arg(required = true)]
    paths: Vec<String>,
    /// Only compare one file with this hash; end with 5 when it differs
    #[arg(long, value_name = "HASH")]
    check: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    path: String,
    hash: String,
    size_in_bytes: u64,
}

impl Hash {
    pub(super) async fn run(self, state: &Arc<State>, chosen: Chosen) -> Status {
        let wanted = match self.check.as_ref().map(|text| ContentHash::parse("check", text)).transpose() {
            Ok(wanted) => wanted,
            Err(error) => return chosen.failed(&error.into()),
        };
        if wanted.is_some() && self.paths.len() != 1 {
            return out::misused(ArgumentProblem::Conflict, &"--check takes one path", chosen.json);
        }
        let mut lines = Vec::new();
        for path in self.paths {
            match hash(&chosen, state, path).await {
                Ok(line) => lines.push(line),
                Err(error) => return chosen.failed(&error),
            }
        }
        let differs = wanted.is_some_and(|wanted| lines[0].hash != wanted.to_string());
        match show(&lines, &chosen) {
            Err(status) => status,
            Ok(()) if differs => out::failed(&"the hash is another than the one given", Exit::Precondition),
            Ok(()) => Status::Ended(Exit::Ok),
        }
    }
}

async fn hash(chosen: &Chosen, state: &Arc<State>, path: String) -> Result<Line, Error> {
    let (hash, size_in_bytes) = if path == "-" {
        let cancel = chosen.cancel.clone();
        state.work.files(move || hash_stdin(&cancel)).await?
    } else {
        let asked = path.clone();
        chosen.on_vault(state, move |vault, _| hash_file::hash(vault, &asked)).await?
    };
    Ok(Line { path, hash: hash.to_string(), size_in_bytes })
}

fn hash_stdin(cancel: &CancelFlag) -> Result<(ContentHash, u64), Error> {
    let mut hasher = Hasher::default();
    let copied = host::standard_input(cancel).and_then(|mut stdin| io::copy(&mut stdin, &mut hasher));
    match copied {
        Ok(size) => Ok((hasher.finish(), size)),
        Err(_) if cancel.is_cancelled() => Err(ServingError::Cancelled {}.into()),
        Err(error) => {
            let (path, step, errno) = ("-".into(), "read standard input", error.kind().to_string());
            Err(WriteError::IoError { path, step, errno }.into())
        }
    }
}

fn show(lines: &[Line], chosen: &Chosen) -> Result<(), Status> {
    if chosen.json {
        return out::json(&lines);
    }
    lines.iter().try_for_each(|line| out::data(&format!("{}  {}", line.hash, line.path)))
}
