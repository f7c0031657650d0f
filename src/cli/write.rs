//! `write`: a file's bytes, or those of standard input, into the vault.

use std::{
    io::{self, IsTerminal},
    path::absolute,
    sync::Arc,
};

use super::{Status, chosen::Chosen, out};
use crate::{
    error::{ArgumentProblem, ArgumentsError, Error, Exit},
    fs::HostPath,
    ops::{
        report::{DurableReason, WriteReport},
        write_file::{Ask, Input},
    },
    serving::State,
    text::ContentHash,
};

/// One write.
#[derive(Debug, clap::Args)]
pub(super) struct Write {
    /// Destination, relative to the vault
    path: String,
    /// The file whose bytes are written; standard input for `-` or without it
    file: Option<String>,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// Replace only a file with this hash
    #[arg(long, value_name = "HASH")]
    expected_hash: Option<String>,
    /// Write only bytes with this hash
    #[arg(long, value_name = "HASH")]
    source_hash: Option<String>,
    /// Write nothing; tell what would change
    #[arg(long)]
    dry_run: bool,
    /// End with 11 when the bytes are written but may not survive a power cut
    #[arg(long)]
    require_durable: bool,
}

impl Write {
    pub(super) async fn run(self, state: &Arc<State>, chosen: Chosen) -> Status {
        if self.reads_stdin() && io::stdin().is_terminal() {
            let why = "name a FILE, or pipe the bytes in; standard input is a terminal";
            return out::misused(ArgumentProblem::Missing, &why, chosen.json);
        }
        let require_durable = self.require_durable;
        let ask = match self.ask().and_then(|ask| ask.check().map(|()| ask)) {
            Ok(ask) => ask,
            Err(error) => return chosen.failed(&error),
        };
        match chosen.on_vault(state, |vault, cancel| ask.run(vault, cancel)).await {
            Ok(report) => show(&report, require_durable, chosen.json),
            Err(error) => chosen.failed(&error),
        }
    }

    fn reads_stdin(&self) -> bool {
        self.file.as_deref().is_none_or(|file| file == "-")
    }

    fn ask(self) -> Result<Ask, Error> {
        let hash =
            |field, text: Option<&String>| text.map(|text| ContentHash::parse(field, text)).transpose();
        let expected = hash("expected_hash", self.expected_hash.as_ref())?;
        let source_hash = hash("source_hash", self.source_hash.as_ref())?;
        let input = match &self.file {
            Some(file) if file != "-" => Input::HostFile(host_path(file)?, source_hash),
            _ => Input::Stdin(source_hash),
        };
        Ok(Ask { path: self.path, input, overwrite: self.overwrite, expected, dry_run: self.dry_run })
    }
}

fn host_path(file: &str) -> Result<HostPath, Error> {
    let path = absolute(file).ok().and_then(HostPath::parse);
    path.ok_or_else(|| ArgumentsError::SourceMissing {}.into())
}

fn show(report: &WriteReport, require_durable: bool, json: bool) -> Status {
    let shown = if json { out::json(report) } else { out::data(&report.result) };
    if let Err(status) = shown {
        out::tell(&format_args!("vaultwright: {}", report.result));
        return status;
    }
    for warning in &report.warnings {
        out::tell(&format_args!("vaultwright: warning: {warning}"));
    }
    if let (false, Some(diff)) = (json, &report.diff) {
        return out::data(diff).err().unwrap_or(Status::Ended(Exit::Ok));
    }
    let lasts = report.dry_run == Some(true) || report.durable != Some(false);
    if !require_durable || lasts {
        return Status::Ended(Exit::Ok);
    }
    let reason = report.durable_reason.map_or("unknown", DurableReason::as_str);
    let why = format!("`{}` was written, but is not known to survive a power cut: {reason}", report.path);
    out::failed(&why, Exit::NotDurable)
}
