//! The questions a server asks about vaults. Each is answered from the folders as they are at that moment.

use std::{sync::Arc, time::Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    FileConfig, RegistryFile, Vault, VaultConfig, VaultRecord, Warning, admission::Admitted,
    discovery::Discovery, known::Known, open::OpenRoots, place::Place, registry::Registry, roots::relation,
};
use crate::{
    error::{ArgumentProblem, ArgumentsError, Error, VaultError},
    fs::{HostPath, Identity, Root},
    path::PathPolicy,
};

/// The longest path that the system takes.
const PATH_MAX: usize = 4095;

/// The known vaults and the opened ones.
#[derive(Debug)]
pub struct Vaults {
    config: VaultConfig,
    files: Arc<FileConfig>,
    policy: Arc<PathPolicy>,
    path_lists: bool,
    discovery: Discovery,
    open: OpenRoots,
}

/// What a caller names a vault by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Id or alias id, exactly.
    Id(String),
    /// Name or alias name; case decides only between several.
    Name(String),
    /// Absolute folder, known or not.
    Path(String),
}

/// A vault that may be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The vault, as active.
    pub record: VaultRecord,
    /// What to keep: the path as it was given or configured.
    pub path: String,
    /// The folder at that path now.
    pub identity: Identity,
}

/// The vaults that may be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// In order: default, named, Obsidian's by last use, the selection that no source names.
    pub records: Vec<VaultRecord>,
    /// The registry files that were looked at.
    pub files: Vec<RegistryFile>,
    /// What was dropped or ignored.
    pub warnings: Vec<Warning>,
    /// The operator excludes some vaults, perhaps.
    pub gated: bool,
}

/// The vault a call without `vaultPath` acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// None when there is none, or when the operator blocks it by now.
    pub active: Option<VaultRecord>,
    /// Why it is that one.
    pub reason: CurrentReason,
    /// The path of `OBSIDIAN_VAULT_PATH`.
    pub env_default: Option<String>,
}

/// Why a vault is the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum CurrentReason {
    SessionSelected,
    EnvDefault,
    None,
}

impl Vaults {
    /// Keeps the settings; opens nothing.
    pub fn new(config: VaultConfig, files: FileConfig, policy: PathPolicy) -> Self {
        Self {
            discovery: Discovery::new(&config),
            config,
            files: Arc::new(files),
            path_lists: policy.has_lists(),
            policy: Arc::new(policy),
            open: OpenRoots::default(),
        }
    }

    /// The vault a call acts on: its `vaultPath`, else the path its session selected, else the default.
    ///
    /// The first of these that is given decides; that it fails is never a reason to take the next.
    pub fn choose(&self, vault_path: Option<&str>, selected: Option<&str>) -> Result<Vault, Error> {
        let given = vault_path.or(selected).map(|path| absolute("vaultPath", path)).transpose()?;
        let registry = self.look(false);
        let default = || self.config.default.clone().ok_or_else(|| registry.required());
        let admitted = registry.admit(&given.map_or_else(default, Ok)?)?;
        let is_active = vault_path.is_none()
            || active(&registry, selected).is_some_and(|active| active.place.is(&admitted.vault.place));
        Ok(self.open(admitted, is_active))
    }

    fn open(&self, admitted: Admitted, is_active: bool) -> Vault {
        let configured = admitted.vault.place.path.clone();
        let config = || self.files.write_config();
        let root = self.open.keep(admitted.dir, |dir| Root::new(dir, configured.clone(), config()));
        Vault {
            record: admitted.vault.record(is_active),
            root,
            configured,
            policy: self.policy.with_denied(&admitted.withheld),
            files: Arc::clone(&self.files),
        }
    }

    /// Every admitted vault; `refresh` forgets what was cached of the registry files.
    pub fn list(&self, selected: Option<&str>, refresh: bool) -> Listing {
        let registry = self.look(refresh);
        let active = active(&registry, selected);
        let is_active = |vault: &Known| active.as_ref().is_some_and(|active| active.place.is(&vault.place));
        let mut records: Vec<_> = registry.admitted().map(|vault| vault.record(is_active(vault))).collect();
        if let Some(active) = &active
            && !records.iter().any(|record| record.is_active)
        {
            records.push(active.record(true));
        }
        let settings = self.config.warnings.iter().cloned();
        let settings = settings.map(|(place, message)| Warning { place, message });
        Listing {
            records,
            files: registry.files(),
            warnings: settings.chain(registry.warnings()).collect(),
            gated: registry.gate.is_set(),
        }
    }

    /// The vault a call without `vaultPath` acts on, and why.
    pub fn current(&self, selected: Option<&str>) -> Current {
        let registry = self.look(false);
        let reason = match (selected, &self.config.default) {
            (Some(_), _) => CurrentReason::SessionSelected,
            (None, Some(_)) => CurrentReason::EnvDefault,
            (None, None) => CurrentReason::None,
        };
        Current {
            active: active(&registry, selected).map(|vault| vault.record(true)),
            reason,
            env_default: self.config.default.as_ref().map(ToString::to_string),
        }
    }

    /// The record of a path, not as the active one; none when the operator blocks it.
    pub fn record(&self, path: &str) -> Option<VaultRecord> {
        active(&self.look(false), Some(path)).map(|vault| vault.record(false))
    }

    /// Finds the one vault a caller names, and judges it as a call on it would.
    pub fn find(&self, selector: &Selector) -> Result<Selected, Error> {
        let registry = self.look(false);
        let path = match selector {
            Selector::Id(id) => registry.by_id(id)?.place.path.clone(),
            Selector::Name(name) => registry.by_name(name)?.place.path.clone(),
            Selector::Path(given) => absolute("path", given)?,
        };
        let admitted = registry.admit(&path)?;
        let record = admitted.vault.record(true);
        Ok(Selected { record, path: path.to_string(), identity: admitted.dir.identity })
    }

    /// The first folder of `WRITE_FILE_SOURCE_PATHS` that is, holds or lies in a known vault: files taken from it
    /// would go round the policy of what may be read there.
    pub fn overlapping_source(&self) -> Option<&HostPath> {
        if self.files.source_paths.is_empty() {
            return None;
        }
        let registry = self.look(false);
        self.files.source_paths.iter().find(|folder| {
            let folder = Place::look(folder);
            registry.places().any(|vault| vault.is(&folder) || relation(&folder, vault).is_some())
        })
    }

    fn look(&self, refresh: bool) -> Registry {
        let files = self.discovery.read(refresh, Instant::now());
        Registry::look(&self.config, files, self.path_lists)
    }
}

/// The vault a call without `vaultPath` would act on, there or not; none when there is none or it is blocked.
fn active(registry: &Registry, selected: Option<&str>) -> Option<Known> {
    let vault = match selected {
        Some(path) => registry.identify(Place::look(&HostPath::parse(path)?)),
        None => registry.default()?.clone(),
    };
    registry.gate.admits(&vault).then_some(vault)
}

fn absolute(field: &str, given: &str) -> Result<HostPath, Error> {
    let invalid = |detail: String| ArgumentsError::invalid(field, ArgumentProblem::Range, detail);
    if given.is_empty() {
        return Err(invalid(format!("`{field}` is empty.")).into());
    }
    if given.contains('\0') {
        return Err(invalid(format!("`{field}` holds a NUL character.")).into());
    }
    if given.len() > PATH_MAX {
        return Err(invalid(format!("`{field}` is longer than {PATH_MAX} bytes.")).into());
    }
    HostPath::parse(given).ok_or_else(|| VaultError::VaultPathNotAbsolute { path: given.to_owned() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::testing::{Disk, reason, vaults};

    #[test]
    fn the_argument_outranks_the_selection_and_the_selection_the_default() {
        let disk = Disk::with(&["V", "S", "D"]);
        let with_default = vaults(disk.config_with_default("D"));
        let without = vaults(disk.config());
        let (v, s) = (disk.text("V"), disk.text("S"));
        let chosen =
            |vaults: &Vaults, v: Option<&str>, s: Option<&str>| vaults.choose(v, s).unwrap().record.name;
        for (argument, selected, expected) in
            [(Some(&*v), Some(&*s), "V"), (Some(&*v), None, "V"), (None, Some(&*s), "S")]
        {
            assert_eq!(chosen(&with_default, argument, selected), expected);
            assert_eq!(chosen(&without, argument, selected), expected);
        }
        assert_eq!(chosen(&with_default, None, None), "D");
        assert_eq!(reason(without.choose(None, None)), "vault_required");
    }

    #[test]
    fn what_is_required_names_at_most_five_admitted_vaults() {
        let disk = Disk::with(&[]);
        let lists: Vec<_> = (0..7).map(|n| (n.to_string(), format!("v{n}"))).collect();
        disk.obsidian_lists(&lists.iter().map(|(id, path)| (&**id, &**path)).collect::<Vec<_>>());
        let config = VaultConfig { deny: vec!["v1".into()], ..disk.config() };
        let known = vaults(config);
        let Err(Error::Vault(VaultError::VaultRequired { vaults })) = known.choose(None, None) else {
            panic!("a vault is chosen")
        };
        assert_eq!(
            vaults.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["v0", "v2", "v3", "v4", "v5"]
        );
    }

    #[test]
    fn folders_to_take_files_from_stay_clear_of_every_known_vault() {
        let disk = Disk::with(&["V/Sub", "out"]);
        disk.link("alias", "V");
        let overlapping = |folder: &str| {
            let files = FileConfig {
                source_paths: vec![disk.host("out"), disk.host(folder)],
                ..FileConfig::default()
            };
            let vaults = Vaults::new(disk.config_with_default("V"), files, PathPolicy::default());
            vaults.overlapping_source().cloned()
        };
        for folder in ["V", "V/Sub", "", "alias"] {
            let expected = if folder.is_empty() { disk.host("") } else { disk.host(folder) };
            assert_eq!(overlapping(folder), Some(expected), "{folder}");
        }
        assert_eq!(overlapping("out"), None);
    }

    #[test]
    fn a_failing_argument_or_selection_never_falls_through() {
        let disk = Disk::with(&["D", "S"]);
        let vaults = vaults(disk.config_with_default("D"));
        let (gone, s) = (disk.text("gone"), disk.text("S"));
        assert_eq!(reason(vaults.choose(Some(&gone), Some(&s))), "vault_missing");
        assert_eq!(reason(vaults.choose(None, Some(&gone))), "vault_missing");
    }

    #[test]
    fn a_vault_path_must_be_absolute_and_is_never_empty() {
        let disk = Disk::with(&["D"]);
        let vaults = vaults(disk.config_with_default("D"));
        for (given, expected) in [
            ("", "invalid_arguments"),
            ("/a\0b", "invalid_arguments"),
            ("~/D", "vault_path_not_absolute"),
            ("D", "vault_path_not_absolute"),
            ("file:///D", "vault_path_not_absolute"),
            ("C:\\D", "vault_path_not_absolute"),
            (" ", "vault_path_not_absolute"),
        ] {
            assert_eq!(reason(vaults.choose(Some(given), None)), expected, "{given:?}");
        }
        assert!(vaults.choose(Some(&disk.text("D/")), None).is_ok());
    }

    #[test]
    fn the_vectors_of_the_specification_hold_under_a_path_list() {
        let disk = Disk::with(&["v/Work/Sub"]);
        let vaults = Vaults { path_lists: true, ..vaults(disk.config_with_default("v/Work")) };
        let find = |path: &str| vaults.find(&Selector::Path(disk.text(path)));
        assert_eq!(find("v/Work/").unwrap().record.id, "default");
        assert_eq!(
            (reason(find("v")), reason(find("v/Work/Sub"))),
            ("vault_overlap".into(), "vault_overlap".into())
        );
    }

    #[test]
    fn a_denied_link_is_forbidden_by_path_and_unknown_by_name() {
        let disk = Disk::with(&["v/Secret"]);
        disk.link("l", "v/Secret");
        let vaults = vaults(VaultConfig { deny: vec![disk.text("v/Secret")], ..disk.config() });
        let link = disk.text("l");
        assert_eq!(reason(vaults.choose(Some(&link), None)), "vault_forbidden");
        assert_eq!(reason(vaults.choose(None, Some(&link))), "vault_forbidden");
        assert_eq!(reason(vaults.find(&Selector::Path(link))), "vault_forbidden");
        assert_eq!(reason(vaults.find(&Selector::Name("Secret".into()))), "vault_not_found");
    }

    #[test]
    fn a_missing_vault_is_found_but_not_served() {
        let disk = Disk::with(&[]);
        disk.obsidian_lists(&[("aa", "gone")]);
        let vaults = vaults(disk.config());
        assert_eq!(reason(vaults.find(&Selector::Id("aa".into()))), "vault_missing");
        assert!(!disk.has("gone"));
    }

    #[test]
    fn a_selection_by_path_keeps_the_path() {
        let disk = Disk::with(&["Work"]);
        disk.link("alias", "Work");
        let selected =
            vaults(disk.config_with_default("Work")).find(&Selector::Path(disk.text("alias"))).unwrap();
        assert_eq!((selected.path, selected.record.id.as_str()), (disk.text("alias"), "default"));
        assert_eq!(selected.record.path, disk.text("Work"));
    }

    #[test]
    fn one_record_at_most_is_active_and_an_unknown_selection_is_listed_last() {
        let disk = Disk::with(&["D", "S"]);
        let vaults = vaults(disk.config_with_default("D"));
        let active = |selected: Option<&str>| -> Vec<_> {
            let records = vaults.list(selected, false).records;
            records.into_iter().map(|record| (record.name, record.is_active)).collect()
        };
        assert_eq!(active(None), [("D".to_owned(), true)]);
        let selected = active(Some(&disk.text("S")));
        assert_eq!(selected, [("D".to_owned(), false), ("S".to_owned(), true)]);
    }

    #[test]
    fn a_selection_the_operator_blocks_is_neither_listed_nor_current() {
        let disk = Disk::with(&["S"]);
        let vaults = vaults(VaultConfig { deny: vec!["S".into()], ..disk.config() });
        let selected = disk.text("S");
        assert!(vaults.list(Some(&selected), false).records.is_empty());
        let current = vaults.current(Some(&selected));
        assert_eq!((current.active, current.reason), (None, CurrentReason::SessionSelected));
        assert_eq!(vaults.record(&selected), None);
    }

    #[test]
    fn warnings_of_the_settings_come_first() {
        let disk = Disk::with(&[]);
        disk.write_registry(".config", &serde_json::json!({ "vaults": { "x": 1 } }));
        let config =
            VaultConfig { warnings: vec![("OBSIDIAN_VAULT_X".into(), "dropped".into())], ..disk.config() };
        let warnings = vaults(config).list(None, false).warnings;
        assert_eq!((warnings.len(), warnings[0].place.as_str()), (2, "OBSIDIAN_VAULT_X"));
    }

    #[test]
    fn calls_on_one_folder_share_its_root() {
        let disk = Disk::with(&["D"]);
        disk.link("alias", "D");
        let vaults = vaults(disk.config_with_default("D"));
        let root = |path: Option<&str>| vaults.choose(path, None).unwrap().root;
        assert!(Arc::ptr_eq(&root(None), &root(Some(&disk.text("alias")))));
    }

    #[test]
    fn a_vault_withholds_blocked_vaults_below_it_in_every_case_and_form() {
        let disk = Disk::with(&["D/Priv\u{e9}/x", "D/Privat"]);
        let vaults =
            vaults(VaultConfig { deny: vec![disk.text("D/Priv\u{e9}")], ..disk.config_with_default("D") });
        let vault = vaults.choose(None, None).unwrap();
        for path in ["Priv\u{e9}", "PRIVE\u{301}/note.md", "priv\u{e9}/x/y"] {
            assert!(!vault.policy().can_read(path), "{path}");
        }
        for path in ["Privat/n.md", "Priv\u{e9}t.md", "n.md", "x/Priv\u{e9}"] {
            assert!(vault.policy().can_read(path), "{path}");
        }
        assert_eq!(vault.configured_path(), &disk.host("D"));
    }
}
