//! One row per fact: its value, how well that is, and what it means.

use serde::Serialize;

use super::verdict::{Terms, word};
use crate::{
    fs::probe::{Answer, DurableReason, Facts, Guarantee, Tier},
    vault::Vault,
};

/// A file's times that advance in larger steps than this are coarse.
const FINE_NANOS: u64 = 1_000_000;

/// How well a fact is; worse ones come later in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Ok,
    Unknown,
    Degraded,
    Missing,
}

use Health::{Degraded, Missing, Unknown};

impl Health {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// One row. Ids and values are stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) value: String,
    pub(super) status: Health,
    pub(super) detail: String,
}

fn check(id: &str, value: impl Into<String>, status: Health, detail: impl Into<String>) -> Check {
    Check { id: id.to_owned(), value: value.into(), status, detail: detail.into() }
}

/// The rows of the root's mount, and one for each mount below it.
pub(super) fn of_mounts(facts: &[Facts], terms: Terms) -> Vec<Check> {
    let Some((root, nested)) = facts.split_first() else { return Vec::new() };
    let mut checks = of_mount(root, terms);
    checks.extend(nested.iter().map(|facts| of_nested(facts, terms)));
    checks
}

/// The rows about the vault itself.
pub(super) fn of_vault(vault: &Vault) -> [Check; 2] {
    [policy(vault), obsidian_config(vault.record.initialized)]
}

fn of_mount(facts: &Facts, terms: Terms) -> Vec<Check> {
    let mut checks = abilities(facts, terms);
    checks.extend([
        case_folding(facts),
        normalization(facts),
        timestamps(facts),
        xattrs(facts),
        durability(facts),
        read_only(facts, terms),
        check("free_bytes", facts.free_bytes.to_string(), Health::Ok, "what may still be filled"),
        fs_type(facts),
        check("mount_id", facts.mount_id.to_string(), Health::Ok, "the kernel's number of the mount"),
        tier("create_tier", 'T', facts.create, facts),
        tier("replace_tier", 'C', facts.replace, facts),
    ]);
    checks
}

fn abilities(facts: &Facts, terms: Terms) -> Vec<Check> {
    vec![
        openat2(facts.openat2),
        unnamed(facts, terms),
        link_form(facts, terms),
        ability(
            "rename_noreplace",
            &facts.tries.no_replace,
            facts,
            ["a rename can refuse to replace", "a rename cannot refuse to replace"],
        ),
        ability(
            "rename_exchange",
            &facts.tries.exchange,
            facts,
            ["two files trade names in one step", "a file is renamed over the one it replaces"],
        ),
        leases(facts),
    ]
}

fn openat2(native: bool) -> Check {
    if native {
        check("openat2", "native", Health::Ok, "a path is opened in one call that cannot leave the vault")
    } else {
        check("openat2", "fallback_walk", Degraded, "a path is walked name by name, just as safe but slower")
    }
}

fn value(answer: &Answer) -> String {
    match answer {
        Answer::Unknown => "unknown".to_owned(),
        Answer::Yes => "yes".to_owned(),
        Answer::No(errno) => format!("no({errno})"),
    }
}

/// The row of something whose absence makes writes worse.
fn ability(id: &str, answer: &Answer, facts: &Facts, [there, absent]: [&str; 2]) -> Check {
    match answer {
        Answer::Unknown => untried(id, facts),
        Answer::Yes => check(id, "yes", Health::Ok, there),
        Answer::No(_) => check(id, value(answer), Degraded, absent),
    }
}

fn untried(id: &str, facts: &Facts) -> Check {
    let why = match &facts.obstacle {
        Some(errno) => format!("no file could be made to try it: {errno}"),
        None => "only a write can tell".to_owned(),
    };
    check(id, "unknown", Unknown, why)
}

fn unnamed(facts: &Facts, terms: Terms) -> Check {
    let answer = &facts.tries.unnamed;
    match answer {
        Answer::Unknown => untried("o_tmpfile", facts),
        Answer::Yes => check("o_tmpfile", "yes", Health::Ok, "a new file has no name until it is whole"),
        Answer::No(_) => check("o_tmpfile", value(answer), without_unnamed(terms), named_staging(terms)),
    }
}

fn link_form(facts: &Facts, terms: Terms) -> Check {
    match facts.tries.link_form {
        None => untried("linkat_form", facts),
        Some("none") => check("linkat_form", "none", without_unnamed(terms), named_staging(terms)),
        Some(form) => check("linkat_form", form, Health::Ok, "how a whole file gets its name"),
    }
}

const fn without_unnamed(terms: Terms) -> Health {
    if terms.named_staging { Degraded } else { Missing }
}

const fn named_staging(terms: Terms) -> &'static str {
    if terms.named_staging {
        "a new file is staged under a hidden name first"
    } else {
        "new files are refused until VAULT_ALLOW_NAMED_STAGING_FALLBACK=true"
    }
}

fn leases(facts: &Facts) -> Check {
    if facts.tries.lease == Answer::Yes && facts.is_remote {
        return check("leases", "local_only", Degraded, "the kernel tells of writers on this host alone");
    }
    let meanings = ["the kernel tells who else writes a file", "a writer that has the file open goes unseen"];
    ability("leases", &facts.tries.lease, facts, meanings)
}

fn case_folding(facts: &Facts) -> Check {
    match facts.folds_case {
        None => untried("case_folding", facts),
        Some(false) => check("case_folding", "sensitive", Health::Ok, "Note.md and note.md are two files"),
        Some(true) => check("case_folding", "folds", Health::Ok, "Note.md and note.md are one file"),
    }
}

fn normalization(facts: &Facts) -> Check {
    match facts.folds_unicode {
        None => untried("normalization", facts),
        Some(false) => check(
            "normalization",
            "preserving",
            Health::Ok,
            "both Unicode spellings of é can stand side by side",
        ),
        Some(true) => check("normalization", "folds", Health::Ok, "both Unicode spellings of é are one name"),
    }
}

fn timestamps(facts: &Facts) -> Check {
    match facts.tries.clock_nanos {
        None => untried("timestamps", facts),
        Some(nanos) if nanos < FINE_NANOS => {
            check("timestamps", "fine", Health::Ok, "each change of a file shows in its times")
        }
        Some(nanos) => {
            check("timestamps", format!("coarse({nanos})"), Degraded, "quick changes show only in the hash")
        }
    }
}

fn xattrs(facts: &Facts) -> Check {
    let answer = match &facts.tries.xattrs {
        Answer::No(_) => return check("xattrs", "no", Degraded, "files have no extended attributes to keep"),
        answer => answer,
    };
    ability("xattrs", answer, facts, ["extended attributes are kept", ""])
}

fn durability(facts: &Facts) -> Check {
    let (value, status, meaning) = match facts.durable {
        Ok(()) => ("durable", Health::Ok, "a reported write survives a power cut"),
        Err(reason @ DurableReason::VolatileFilesystem) => {
            (reason.as_str(), Degraded, "it lives in memory: nothing survives a power cut")
        }
        Err(reason) => (reason.as_str(), Unknown, "nothing is promised for a power cut"),
    };
    let flush = facts.tries.flush_micros.map(|micros| format!("; p50 of 5 flushes: {micros} µs"));
    check("durability", value, status, format!("{meaning}{}", flush.unwrap_or_default()))
}

fn read_only(facts: &Facts, terms: Terms) -> Check {
    match (facts.read_only, &facts.obstacle) {
        (true, _) if terms.writes => check("read_only", "yes", Missing, "every write is refused"),
        (true, _) => check("read_only", "yes", Health::Ok, "nothing is to be written here"),
        (false, Some(errno)) => {
            check("read_only", "no", Missing, format!("but no file can be made in its top folder: {errno}"))
        }
        (false, None) => check("read_only", "no", Health::Ok, "it is mounted for writing"),
    }
}

fn fs_type(facts: &Facts) -> Check {
    let value = if facts.fs_type.is_empty() { "unknown" } else { &facts.fs_type };
    let shared = "other hosts may write to it: their writes can be detected, not kept out";
    let meaning = if facts.is_remote { shared } else { "the type of the file system" };
    check("fs_type", value, Health::Ok, meaning)
}

fn tier(id: &str, letter: char, tier: Tier, facts: &Facts) -> Check {
    match tier {
        Tier::Unknown => untried(id, facts),
        Tier::Refused => check(id, "refused", Missing, "no way that the settings allow leads to a new file"),
        Tier::Reached(level, guarantee) => {
            let best = level == 1 && guarantee == Guarantee::Linearizable;
            let status = if best { Health::Ok } else { Degraded };
            check(id, format!("{letter}{level} {}", word(guarantee)), status, promise(guarantee))
        }
    }
}

const fn promise(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::Linearizable => "as if all writers on this machine took turns",
        Guarantee::Detecting => "another writer is found out, not kept out",
        Guarantee::BestEffort => "a writer in the instant of publication can be lost",
    }
}

/// The one row of a mount below the root. It does not decide about the rest of the vault.
fn of_nested(facts: &Facts, terms: Terms) -> Check {
    let rows = of_mount(facts, terms);
    let worst = rows.iter().map(|row| row.status).max().unwrap_or(Unknown);
    let told: Vec<_> = rows
        .iter()
        .filter(|row| row.status == worst && worst > Health::Ok)
        .map(|row| row.id.as_str())
        .collect();
    let detail = if told.is_empty() {
        format!("{} is a mount of its own, as good as the best", facts.at)
    } else {
        format!("{} is a mount of its own; {}: {}", facts.at, worst.as_str(), told.join(", "))
    };
    let tiers = [tier("", 'T', facts.create, facts).value, tier("", 'C', facts.replace, facts).value];
    let value = format!("{}, {}", facts.fs_type, tiers.join(", "));
    check(&format!("mount:{}", facts.at), value, worst.min(Degraded), detail)
}

/// Counts alone: the lists say what somebody hides.
fn policy(vault: &Vault) -> Check {
    let policy = vault.policy();
    let mut parts: Vec<_> =
        policy.lists().map(|(variable, entries)| format!("{variable}: {}", entries.len())).collect();
    parts.extend(policy.is_read_only().then(|| "OBSIDIAN_READ_ONLY".to_owned()));
    if parts.is_empty() {
        return check("vault_policy", "none", Health::Ok, "every path of the vault can be read and written");
    }
    check("vault_policy", parts.join(", "), Health::Ok, "the operator narrows what can be reached")
}

fn obsidian_config(found: bool) -> Check {
    if found {
        check("obsidian_config", "found", Health::Ok, "Obsidian has set this folder up as a vault")
    } else {
        check("obsidian_config", "absent", Unknown, "Obsidian has not opened this folder as a vault yet")
    }
}
