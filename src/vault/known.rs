//! One known vault, with every id and name that leads to it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    obsidian_json::Entry,
    place::Place,
    record::{Source, VaultRecord, Warning},
};
use crate::{
    fs::HostPath,
    text::fold::{self, Folded},
};

/// The id of the vault of `OBSIDIAN_VAULT_PATH`.
const DEFAULT_ID: &str = "default";

/// A vault that some source names, as it is at this call.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub id: String,
    pub name: String,
    pub source: Source,
    pub place: Place,
    pub last_opened: Option<Timestamp>,
    open: Option<bool>,
    alias_ids: BTreeSet<String>,
    alias_names: BTreeSet<String>,
    /// Labels of the registry files that name it.
    pub files: BTreeSet<&'static str>,
    /// What was ignored about it.
    pub warnings: Vec<Warning>,
}

impl Known {
    fn new(source: Source, id: String, name: String, place: Place) -> Self {
        Self {
            id,
            name,
            source,
            place,
            last_opened: None,
            open: None,
            alias_ids: BTreeSet::new(),
            alias_names: BTreeSet::new(),
            files: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }

    /// The vault of `OBSIDIAN_VAULT_PATH`.
    pub(super) fn default(path: &HostPath) -> Self {
        Self::new(Source::EnvDefault, DEFAULT_ID.into(), path.name(), Place::look(path))
    }

    /// A vault of `OBSIDIAN_VAULT_<NAME>`.
    pub(super) fn named(name: &str, path: &HostPath) -> Self {
        Self::new(Source::EnvNamed, format!("env:{name}"), name.to_owned(), Place::look(path))
    }

    /// A vault of a registry file.
    pub(super) fn listed(label: &'static str, entry: &Entry) -> Self {
        let mut vault =
            Self::new(Source::ObsidianApp, entry.id.clone(), entry.path.name(), Place::look(&entry.path));
        vault.last_opened = entry.last_opened;
        vault.open = entry.open;
        vault.files.insert(label);
        vault.warnings.extend(entry.warning.map(|message| warning(label, &entry.id, message)));
        vault
    }

    /// A folder that no source names.
    pub(super) fn ad_hoc(place: Place) -> Self {
        let id = format!("path:{}", place.canonical());
        Self::new(Source::AdHoc, id, place.path.name(), place)
    }

    /// The same vault with what is in its folder now.
    pub(super) fn seen_at(self, place: Place) -> Self {
        Self { place: place.under(self.place.path), ..self }
    }

    /// Takes in another record of the same folder that ranks no higher.
    pub(super) fn absorb(&mut self, other: Self) {
        if !self.has_id(&other.id) {
            self.alias_ids.insert(other.id);
        }
        if !self.has_name(&other.name) {
            self.alias_names.insert(other.name);
        }
        self.last_opened = self.last_opened.max(other.last_opened);
        self.open = self.open.or(other.open);
        self.files.extend(other.files);
        self.warnings.extend(other.warnings);
    }

    /// Its id or an alias id is this.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.id == id || self.alias_ids.contains(id)
    }

    /// Its name or an alias name is this, but for normalisation.
    pub(super) fn has_exact_name(&self, name: &str) -> bool {
        self.names().any(|own| fold::same_nfc(own, name))
    }

    /// Its name or an alias name is this, but for normalisation and case.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let folded = Folded::new(name);
        self.names().any(|own| folded.matches(own))
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.alias_names)
    }

    /// What clients see of it.
    pub(super) fn record(&self, is_active: bool) -> VaultRecord {
        let canonical = self.place.canonical();
        VaultRecord {
            id: self.id.clone(),
            name: self.name.clone(),
            path: self.place.path.to_string(),
            canonical_path: (*canonical != self.place.path).then(|| canonical.to_string()),
            is_default: self.source == Source::EnvDefault,
            is_active,
            source: self.source,
            last_opened: self.last_opened.map(|time| format!("{time:.3}")),
            exists: self.place.exists(),
            initialized: self.place.is_initialized(),
            open: self.open,
            alias_ids: self.alias_ids.iter().cloned().collect(),
            alias_names: self.alias_names.iter().cloned().collect(),
        }
    }
}

/// A warning about one entry of a registry file.
pub(super) fn warning(label: &str, id: &str, message: &str) -> Warning {
    Warning { place: format!("obsidian.json ({label}), vault `{id}`"), message: message.to_owned() }
}
