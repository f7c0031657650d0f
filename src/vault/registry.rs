//! The known vaults as they are at one call: gathered, merged by folder, ordered, found by id, name or path.

use std::cmp::Reverse;

use super::{
    VaultConfig,
    discovery::Found,
    gate::Gate,
    known::{self, Known},
    place::Place,
    record::{RegistryFile, Source, Warning},
};
use crate::{
    error::{KnownVault, VaultCandidate, VaultError, echo},
    text::fold,
};

/// The most names in a suggestion.
const SUGGESTIONS: usize = 5;
/// A longer selector is no slip of a name (`NAME_MAX`), and is not compared.
const LONGEST_NAME: usize = 255;
/// Names less alike than this are not suggested.
const LIKENESS: f32 = 0.4;

/// Every vault some source names, blocked ones included, and what the operator says about them.
#[derive(Debug)]
pub(super) struct Registry {
    pub known: Vec<Known>,
    pub gate: Gate,
    pub home: Option<Place>,
    pub ad_hoc: bool,
    /// Path policy restricts what is reached below a root.
    pub path_lists: bool,
    files: Vec<Found>,
}

impl Registry {
    /// Looks at all folders that the configuration and the registry files name.
    pub(super) fn look(config: &VaultConfig, files: Vec<Found>, path_lists: bool) -> Self {
        Self {
            known: known_vaults(config, &files),
            gate: Gate::look(config),
            home: config.home.as_ref().map(Place::look),
            ad_hoc: config.ad_hoc,
            path_lists,
            files,
        }
    }

    /// The vaults that may be served, in order.
    pub(super) fn admitted(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|vault| self.gate.admits(vault))
    }

    /// Where the known vaults are.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.known.iter().map(|vault| &vault.place)
    }

    /// The default vault.
    pub(super) fn default(&self) -> Option<&Known> {
        self.known.iter().find(|vault| vault.source == Source::EnvDefault)
    }

    /// The known vault at a place, else a vault of its own; judged by what is at the place now.
    pub(super) fn identify(&self, place: Place) -> Known {
        match self.known.iter().find(|vault| vault.place.is(&place)) {
            Some(vault) => vault.clone().seen_at(place),
            None => Known::ad_hoc(place),
        }
    }

    /// The one admitted vault of an id.
    pub(super) fn by_id(&self, id: &str) -> Result<&Known, VaultError> {
        self.pick(id, [&|vault| vault.id == id, &|vault| vault.has_id(id)])
    }

    /// The one admitted vault of a name.
    pub(super) fn by_name(&self, name: &str) -> Result<&Known, VaultError> {
        self.pick(name, [&|vault| vault.has_exact_name(name), &|vault| vault.has_name(name)])
    }

    /// Tries the stricter test first; vaults whose folder is gone count only when no other fits either test.
    fn pick(&self, selector: &str, tests: [&dyn Fn(&Known) -> bool; 2]) -> Result<&Known, VaultError> {
        let rounds = [true, false].into_iter().flat_map(|exists| tests.map(|test| (exists, test)));
        for (exists, test) in rounds {
            let fitting = self.admitted().filter(|vault| vault.place.exists() == exists && test(vault));
            let fitting: Vec<_> = fitting.collect();
            match fitting[..] {
                [] => {}
                [one] => return Ok(one),
                _ => return Err(ambiguous(&fitting)),
            }
        }
        Err(self.not_found(selector))
    }

    fn not_found(&self, selector: &str) -> VaultError {
        let names: Vec<_> = self.admitted().map(|vault| (fold::key(&vault.name), &vault.name)).collect();
        let keys: Vec<_> = names.iter().map(|(key, _)| key.as_str()).collect();
        let wanted = if selector.len() <= LONGEST_NAME { fold::key(selector) } else { String::new() };
        let near = similar::get_close_matches(&*wanted, &keys, SUGGESTIONS, LIKENESS);
        let mut suggestions: Vec<_> = near
            .into_iter()
            .flat_map(|near| names.iter().filter(move |(key, _)| key == near))
            .map(|(_, name)| (*name).clone())
            .collect();
        suggestions.dedup();
        suggestions.truncate(SUGGESTIONS);
        VaultError::VaultNotFound { selector: echo(selector), suggestions, gated: self.gate.is_set() }
    }

    /// No vault was named, selected or configured.
    pub(super) fn required(&self) -> VaultError {
        let named = |vault: &Known| KnownVault { id: vault.id.clone(), name: vault.name.clone() };
        VaultError::VaultRequired { vaults: self.admitted().take(SUGGESTIONS).map(named).collect() }
    }

    /// The registry files that were looked at; only admitted vaults are counted.
    pub(super) fn files(&self) -> Vec<RegistryFile> {
        let count = |label| self.admitted().filter(|vault| vault.files.contains(label)).count();
        let file = |found: &Found| RegistryFile {
            label: found.label,
            path: found.path.to_string(),
            vaults: count(found.label),
            error: found.content.as_ref().err().cloned(),
        };
        self.files.iter().map(file).collect()
    }

    /// What was dropped or ignored in the files; nothing about blocked vaults.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let dropped = self.files.iter().flat_map(|found| {
            let entries = found.content.iter().flat_map(|content| &content.dropped);
            entries.map(|(id, why)| known::warning(found.label, id, why))
        });
        dropped.chain(self.admitted().flat_map(|vault| vault.warnings.iter().cloned()))
    }
}

fn known_vaults(config: &VaultConfig, files: &[Found]) -> Vec<Known> {
    let default = config.default.iter().map(Known::default);
    let named = config.named.iter().map(|(name, path)| Known::named(name, path));
    let listed = files.iter().flat_map(|found| {
        let entries = found.content.iter().flat_map(|content| &content.entries);
        entries.map(|entry| Known::listed(found.label, entry))
    });
    let mut known = Vec::new();
    default.chain(named).chain(listed).for_each(|vault| merge(&mut known, vault));
    known.sort_by_cached_key(order);
    known
}

/// Adds a vault, or joins it to the one of the same folder, which came earlier and so ranks no lower.
fn merge(known: &mut Vec<Known>, mut vault: Known) {
    let is_taken = known.iter().any(|other| other.has_id(&vault.id) && !other.place.is(&vault.place));
    if let Some(label) = vault.files.first()
        && is_taken
    {
        vault.id = format!("{}@{label}", vault.id);
    }
    match known.iter_mut().find(|other| other.place.is(&vault.place)) {
        Some(same) => same.absorb(vault),
        None => known.push(vault),
    }
}

type Order = (Source, Reverse<Option<jiff::Timestamp>>, String, String);

fn order(vault: &Known) -> Order {
    let opened = if vault.source == Source::ObsidianApp { vault.last_opened } else { None };
    (vault.source, Reverse(opened), vault.name.clone(), vault.id.clone())
}

fn ambiguous(fitting: &[&Known]) -> VaultError {
    let candidate = |vault: &&Known| VaultCandidate {
        id: vault.id.clone(),
        name: vault.name.clone(),
        path: vault.place.path.to_string(),
        exists: vault.place.exists(),
    };
    VaultError::AmbiguousVault { candidates: fitting.iter().map(candidate).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::vault::{
        VaultRecord,
        testing::{Disk, reason, registry},
    };

    fn records(config: &VaultConfig) -> Vec<VaultRecord> {
        registry(config, false).admitted().map(|vault| vault.record(false)).collect()
    }

    fn ids(config: &VaultConfig) -> Vec<String> {
        records(config).into_iter().map(|record| record.id).collect()
    }

    #[test]
    fn sources_give_ids_and_names_by_the_table() {
        let disk = Disk::with(&["Work/.obsidian", "n", "App"]);
        disk.obsidian_lists(&[("58f115bd2c2febd2", "App")]);
        let config =
            VaultConfig { named: vec![("team".into(), disk.host("n"))], ..disk.config_with_default("Work") };
        let records = records(&config);
        let told: Vec<_> =
            records.iter().map(|one| (one.id.as_str(), one.name.as_str(), one.source)).collect();
        assert_eq!(
            told,
            [
                ("default", "Work", Source::EnvDefault),
                ("env:team", "team", Source::EnvNamed),
                ("58f115bd2c2febd2", "App", Source::ObsidianApp),
            ]
        );
        assert_eq!(records.iter().map(|one| one.initialized).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(records.iter().map(|one| one.is_default).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(records[2].last_opened.as_deref(), Some("1970-01-01T00:00:00.001Z"));
    }

    #[test]
    fn records_of_one_folder_merge_into_the_highest() {
        let disk = Disk::with(&["Work"]);
        disk.link("alias", "Work");
        let path = |name| disk.text(name);
        let vaults = json!({ "vaults": {
            "bb": { "path": path("alias"), "ts": 5, "open": true }, "aa": { "path": path("Work"), "ts": 7 },
        }});
        disk.write_registry(".config", &vaults);
        let config =
            VaultConfig { named: vec![("w".into(), disk.host("alias"))], ..disk.config_with_default("Work") };
        let [record] = &records(&config)[..] else { panic!("one record") };
        assert_eq!((record.id.as_str(), record.name.as_str()), ("default", "Work"));
        assert_eq!(record.alias_ids, ["aa", "bb", "env:w"]);
        assert_eq!(record.alias_names, ["alias", "w"]);
        assert_eq!(record.last_opened.as_deref(), Some("1970-01-01T00:00:00.007Z"));
        assert_eq!(record.open, Some(true));
    }

    #[test]
    fn a_missing_folder_is_known_by_its_path() {
        let disk = Disk::with(&[]);
        disk.obsidian_lists(&[("aa", "gone"), ("bb", "gone/"), ("cc", "Gone")]);
        let records = records(&disk.config());
        assert_eq!(records.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["cc", "aa"]);
        assert_eq!(records[1].alias_ids, ["bb"]);
        assert!(!records[0].exists && !records[0].initialized);
        assert_eq!(records[0].canonical_path, None);
    }

    #[test]
    fn an_id_in_two_files_is_told_apart_by_the_second_files_label() {
        let disk = Disk::with(&["a", "b"]);
        let of = |path: &str| json!({ "vaults": { "aa": { "path": disk.text(path) } } });
        disk.write_registry(".config", &of("a"));
        disk.write_registry(".var/app/md.obsidian.Obsidian/config", &of("b"));
        assert_eq!(ids(&disk.config()), ["aa", "aa@flatpak"]);
        disk.write_registry(".var/app/md.obsidian.Obsidian/config", &of("a/."));
        let records = records(&disk.config());
        assert_eq!((records.len(), records[0].alias_ids.len()), (1, 0));
    }

    #[test]
    fn the_default_is_first_then_the_named_by_name_then_obsidians_by_last_use() {
        let disk = Disk::with(&["d", "x", "y", "o1", "o2", "o3", "q/o3"]);
        let vault = |path: &str, ts: u32| json!({ "path": disk.text(path), "ts": ts });
        let vaults = json!({ "vaults": {
            "4": vault("o3", 5), "1": vault("o1", 9), "3": vault("q/o3", 5), "2": vault("o2", 5), "5": { "path": disk.text("gone") },
        }});
        disk.write_registry(".config", &vaults);
        let named = vec![("z".into(), disk.host("x")), ("b".into(), disk.host("y"))];
        let config = VaultConfig { named, ..disk.config_with_default("d") };
        assert_eq!(ids(&config), ["default", "env:b", "env:z", "1", "2", "3", "4", "5"]);
    }

    #[test]
    fn the_real_folder_is_told_when_it_differs() {
        let disk = Disk::with(&["Work"]);
        disk.link("alias", "Work");
        let config = disk.config_with_default("alias");
        let record = records(&config).remove(0);
        assert_eq!((record.name.as_str(), record.path), ("alias", disk.text("alias")));
        assert_eq!(record.canonical_path, Some(disk.real("Work")));
    }

    #[test]
    fn blocked_vaults_leave_no_trace() {
        let disk = Disk::with(&["a", "Secret"]);
        let vaults = json!({ "vaults": {
            "aa": { "path": disk.text("a") }, "ss": { "path": disk.text("Secret"), "ts": "never" },
        }});
        disk.write_registry(".config", &vaults);
        let config = VaultConfig { deny: vec!["secret".into()], ..disk.config() };
        let registry = registry(&config, false);
        assert_eq!(registry.admitted().count(), 1);
        assert_eq!(registry.files()[0].vaults, 1);
        assert_eq!(registry.warnings().count(), 0);
        for selector in ["Secret", "secret", "secre"] {
            let Err(VaultError::VaultNotFound { suggestions, gated, .. }) = registry.by_name(selector) else {
                panic!("{selector} is found")
            };
            assert_eq!((suggestions.len(), gated), (0, true));
        }
        assert_eq!(reason(registry.by_id("ss").map(|_| ())), "vault_not_found");
    }

    #[test]
    fn warnings_name_the_file_and_the_entry() {
        let disk = Disk::with(&["a"]);
        let vaults =
            json!({ "vaults": { "aa": { "path": disk.text("a"), "ts": "x" }, "bb": { "path": "rel" } } });
        disk.write_registry(".config", &vaults);
        let warnings: Vec<_> = registry(&disk.config(), false).warnings().map(|one| one.place).collect();
        assert_eq!(warnings, ["obsidian.json (native), vault `bb`", "obsidian.json (native), vault `aa`"]);
    }

    #[test]
    fn the_vectors_of_the_specification_hold() {
        let disk = Disk::with(&["v/Work"]);
        disk.obsidian_lists(&[("58f1", "v/Work"), ("aa", "v/work-old/Work")]);
        let registry = registry(&disk.config_with_default("v/Work"), false);
        assert_eq!(registry.by_id("58f1").unwrap().id, "default");
        assert_eq!(registry.by_name("WORK").unwrap().id, "default");
        assert_eq!(registry.by_id("aa").unwrap().id, "aa");
    }

    #[test]
    fn an_exact_name_outranks_one_in_another_case() {
        let disk = Disk::with(&["a/Work", "b/work", "c/WORK"]);
        disk.obsidian_lists(&[("1", "a/Work"), ("2", "b/work"), ("3", "c/WORK")]);
        let registry = registry(&disk.config(), false);
        assert_eq!(registry.by_name("work").unwrap().id, "2");
        let Err(VaultError::AmbiguousVault { candidates }) = registry.by_name("wORK") else {
            panic!("one fits")
        };
        assert_eq!(candidates.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["3", "1", "2"]);
    }

    #[test]
    fn a_name_is_found_in_either_normal_form() {
        let disk = Disk::with(&["Caf\u{e9}", "cafe\u{301}s"]);
        disk.obsidian_lists(&[("1", "Caf\u{e9}"), ("2", "cafe\u{301}s")]);
        let registry = registry(&disk.config(), false);
        for (name, id) in [("Cafe\u{301}", "1"), ("CAF\u{c9}", "1"), ("caf\u{e9}s", "2")] {
            assert_eq!(registry.by_name(name).unwrap().id, id, "{name}");
        }
    }

    #[test]
    fn an_id_is_exact_and_an_own_one_outranks_an_alias() {
        let disk = Disk::with(&["a", "b"]);
        disk.obsidian_lists(&[("env:b", "a"), ("Bb", "b")]);
        let config = VaultConfig {
            named: vec![("a".into(), disk.host("a")), ("b".into(), disk.host("b"))],
            ..disk.config()
        };
        let registry = registry(&config, false);
        assert_eq!(registry.by_id("env:b").unwrap().id, "env:b");
        assert_eq!(registry.by_id("env:b@native").unwrap().id, "env:a");
        assert_eq!(reason(registry.by_id("bb").map(|_| ())), "vault_not_found");
    }

    #[test]
    fn near_names_are_suggested_nearest_first() {
        let disk = Disk::with(&["Work", "Works", "Garden"]);
        disk.obsidian_lists(&[("1", "Works"), ("2", "Work"), ("3", "Garden")]);
        let Err(VaultError::VaultNotFound { suggestions, gated, .. }) =
            registry(&disk.config(), false).by_name("WORKK").cloned()
        else {
            panic!("it is found")
        };
        assert_eq!((suggestions, gated), (vec!["Work".to_owned(), "Works".to_owned()], false));
    }
}
