//! `doctor`: what a vault's file system can do, and so what a write guarantees there.

mod checks;
mod table;
mod verdict;

use std::{env::consts::OS, path::absolute, sync::Arc};

use serde::Serialize;
use serde_json::json;

use self::{
    checks::Check,
    verdict::{Terms, Verdict},
};
use super::{
    Status,
    chosen::{self, Chosen},
    out,
};
use crate::{
    config,
    error::{Error, Exit},
    fs::{HostPath, host},
    serving::State,
    vault::{FileConfig, Vault, Vaults},
};

/// Where Linux tells its release.
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Which vaults are looked at, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Doctor {
    /// Vaults by folder, id or name; the one in effect without any
    #[arg(value_name = "VAULT")]
    vaults: Vec<String>,
    /// Every known vault that is there
    #[arg(long, conflicts_with = "vaults")]
    all: bool,
    /// Write nothing at all: what only a write can tell stays unknown
    #[arg(long)]
    no_write: bool,
    /// End with 9 also where something is degraded
    #[arg(long)]
    strict: bool,
}

/// What was found out about one vault.
#[derive(Debug, Serialize)]
struct Report {
    id: String,
    name: String,
    path: String,
    verdict: Verdict,
    checks: Vec<Check>,
    /// The verdict in words.
    #[serde(skip)]
    line: String,
}

impl Doctor {
    pub(super) async fn run(mut self, state: &Arc<State>, chosen: Chosen) -> Status {
        if !self.all {
            self.vaults.extend(chosen.selector.clone());
        }
        let strict = self.strict;
        let held = Arc::clone(state);
        match state.work.files(move || self.examine(&held)).await {
            Ok(reports) => show(&reports, chosen.json).err().unwrap_or(Status::Ended(exit(&reports, strict))),
            Err(error) => chosen.failed(&error),
        }
    }

    fn examine(&self, state: &State) -> Result<Vec<Report>, Error> {
        let config = state.config.clone();
        // Opening a vault sweeps it, which is a write.
        let files = FileConfig { sweeps: config.files.sweeps && !self.no_write, ..config.files };
        let vaults = Vaults::new(config.vaults, files, config.policy);
        self.chosen(&vaults)?.iter().map(|vault| self.report(vault)).collect()
    }

    fn chosen(&self, vaults: &Vaults) -> Result<Vec<Vault>, Error> {
        if self.all {
            let there = vaults.list(None, false).records.into_iter().filter(|record| record.exists);
            return there.map(|record| vaults.choose(Some(&record.path), None)).collect();
        }
        if self.vaults.is_empty() {
            return Ok(vec![vaults.choose(None, None)?]);
        }
        self.vaults.iter().map(|named| vaults.choose(Some(&path_of(vaults, named)?), None)).collect()
    }

    fn report(&self, vault: &Vault) -> Result<Report, Error> {
        let terms = Terms::of(vault);
        let facts = vault.root().probe(!self.no_write && terms.writes)?;
        let mut checks = checks::of_mounts(&facts, terms);
        checks.extend(checks::of_vault(vault));
        let record = &vault.record;
        Ok(Report {
            id: record.id.clone(),
            name: record.name.clone(),
            path: record.path.clone(),
            verdict: Verdict::of(&checks),
            checks,
            line: verdict::line(&facts, terms),
        })
    }
}

/// The folder of a vault that is named by its folder, id or name, in this order.
fn path_of(vaults: &Vaults, named: &str) -> Result<String, Error> {
    if config::is_path(named) {
        let path = absolute(named).ok().and_then(HostPath::parse);
        return Ok(path.map_or_else(|| named.to_owned(), |path| path.to_string()));
    }
    chosen::known(vaults, named)
}

fn exit(reports: &[Report], strict: bool) -> Exit {
    let fails = |verdict| verdict == Verdict::Refused || strict && verdict == Verdict::Degraded;
    if reports.iter().any(|report| fails(report.verdict)) { Exit::Unsupported } else { Exit::Ok }
}

fn show(reports: &[Report], json: bool) -> Result<(), Status> {
    if !json {
        return out::data(&table::render(reports));
    }
    let version = env!("CARGO_PKG_VERSION");
    out::data(&json!({ "version": version, "kernel": kernel(), "vaults": reports }).to_string())
}

fn kernel() -> String {
    let release = HostPath::parse(RELEASE).and_then(|file| host::read(&file, 4096).ok());
    let release = release.map(|(bytes, _)| String::from_utf8_lossy(&bytes).trim().to_owned());
    format!("{OS} {}", release.as_deref().unwrap_or("unknown"))
}
