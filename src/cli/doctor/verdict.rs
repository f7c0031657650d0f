//! From single checks to what a person asks: do writes work here, and what do they promise?

use serde::Serialize;

use super::checks::{Check, Health};
use crate::{
    fs::probe::{Facts, Guarantee, Tier},
    vault::Vault,
};

/// What the operator expects of the vault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// It is to be written to.
    pub(super) writes: bool,
    /// Named staging is allowed where unnamed files do not exist.
    pub(super) named_staging: bool,
    /// Writes are flushed.
    pub(super) durable: bool,
}

impl Terms {
    pub(super) fn of(vault: &Vault) -> Self {
        let files = vault.files();
        let writes = !vault.policy().is_read_only();
        Self { writes, named_staging: files.named_staging, durable: files.durable }
    }
}

/// How writes fare in a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    Degraded,
    Refused,
}

impl Verdict {
    pub(super) fn of(checks: &[Check]) -> Self {
        match checks.iter().map(|check| check.status).max() {
            Some(Health::Missing) => Self::Refused,
            Some(Health::Degraded) => Self::Degraded,
            _ => Self::Ok,
        }
    }
}

/// The verdict in words, about the mount of the root.
pub(super) fn line(facts: &[Facts], terms: Terms) -> String {
    let promise = match facts.first() {
        _ if !terms.writes => "off, by OBSIDIAN_READ_ONLY".to_owned(),
        Some(facts) => promise(facts, terms),
        None => "not tried".to_owned(),
    };
    format!("writes: {promise}")
}

fn promise(facts: &Facts, terms: Terms) -> String {
    if facts.read_only {
        return "refused, the file system is mounted read-only".to_owned();
    }
    if let Some(errno) = &facts.obstacle {
        return format!("refused, no file can be made at the root ({errno})");
    }
    let durable = durable(facts, terms);
    match (facts.create, facts.replace) {
        (Tier::Reached(4, _), Tier::Reached(..)) => format!("best effort, {durable}"),
        (Tier::Reached(_, create), Tier::Reached(_, replace)) => {
            format!("atomic, no-clobber, {}, {durable}", word(create.min(replace)))
        }
        (Tier::Refused, Tier::Reached(_, replace)) => {
            format!("new files are refused; replacing is {}, {durable}", word(replace))
        }
        (Tier::Refused, _) => "new files are refused".to_owned(),
        _ => format!("not tried; {durable}"),
    }
}

fn durable(facts: &Facts, terms: Terms) -> String {
    match facts.durable {
        _ if !terms.durable => "not flushed (VAULT_DURABILITY=none)".to_owned(),
        Ok(()) => "durable".to_owned(),
        Err(reason) => format!("not durable ({})", reason.as_str()),
    }
}

/// A guarantee as answers spell it.
pub(super) const fn word(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::Linearizable => "linearizable",
        Guarantee::Detecting => "detecting",
        Guarantee::BestEffort => "best_effort",
    }
}
