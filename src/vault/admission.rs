//! The one way from a path to a folder that may be served.

use super::{known::Known, place::Place, record::Source, registry::Registry, roots};
use crate::{
    error::{RootProblem, VaultError, VaultRelation},
    fs::{DirProblem, FoundDir, HostPath, OpenDir},
    text::fold,
};

/// A vault that passed every check, its folder open.
#[derive(Debug)]
pub(super) struct Admitted {
    pub vault: Known,
    pub dir: OpenDir,
    /// Keys of the paths below the root at which blocked vaults lie.
    pub withheld: Vec<String>,
}

impl Registry {
    /// Opens the folder at a path and judges it by what it is now, however it was named.
    ///
    /// In this order: the operator's lists, existence, kind, permission, then whether such a root is served at all.
    pub(super) fn admit(&self, path: &HostPath) -> Result<Admitted, VaultError> {
        let found = FoundDir::find(path);
        let vault = self.identify(Place::of(path, found.as_ref()));
        if !self.gate.admits(&vault) {
            return Err(VaultError::VaultForbidden { path: path.to_string() });
        }
        let dir = found.and_then(FoundDir::open).map_err(|problem| no_folder(path, problem))?;
        self.judge_root(&vault, path)?;
        let withheld = self.withheld(&vault);
        Ok(Admitted { vault, dir, withheld })
    }

    fn judge_root(&self, vault: &Known, path: &HostPath) -> Result<(), VaultError> {
        match vault.source {
            Source::EnvDefault => Ok(()),
            Source::EnvNamed | Source::ObsidianApp => self.judge_listed(vault, path),
            Source::AdHoc => self.judge_ad_hoc(vault, path),
        }
    }

    fn judge_ad_hoc(&self, vault: &Known, path: &HostPath) -> Result<(), VaultError> {
        if let Some(problem) = self.root_problem(vault) {
            return Err(VaultError::VaultRootRefused { path: path.to_string(), problem });
        }
        let is_restricted = self.path_lists || self.gate.is_set();
        match self.overlap(&vault.place) {
            Some((relation, other)) if is_restricted && !self.gate.names(vault) => {
                Err(VaultError::VaultOverlap { path: path.to_string(), relation, other })
            }
            _ => Ok(()),
        }
    }

    fn root_problem(&self, vault: &Known) -> Option<RootProblem> {
        let home = self.home.as_ref();
        if roots::is_system(&vault.place) {
            Some(RootProblem::SystemRoot)
        } else if home.is_some_and(|home| roots::holds_home(&vault.place, home)) {
            Some(RootProblem::HomeRoot)
        } else if self.gate.names(vault) {
            None
        } else if roots::is_hidden(&vault.place, home) {
            Some(RootProblem::DotRoot)
        } else {
            (!self.ad_hoc).then_some(RootProblem::AdHocOff)
        }
    }

    /// The first vault that holds the place or lies in it, named only if it is listed.
    fn overlap(&self, place: &Place) -> Option<(VaultRelation, Option<String>)> {
        let known = self.known.iter().find_map(|vault| {
            let relation = roots::relation(place, &vault.place)?;
            Some((relation, self.gate.admits(vault).then(|| vault.place.path.to_string())))
        });
        let is_denied = || self.gate.denied_folders().any(|folder| place.is_inside(folder));
        known.or_else(|| is_denied().then_some((VaultRelation::Inside, None)))
    }

    /// Path policy is relative to a root: a root inside another would escape the other's.
    fn judge_listed(&self, vault: &Known, path: &HostPath) -> Result<(), VaultError> {
        match self.admitted().find(|outer| vault.place.is_inside(&outer.place)) {
            Some(outer) if self.path_lists => Err(VaultError::VaultOverlap {
                path: path.to_string(),
                relation: VaultRelation::Inside,
                other: Some(outer.place.path.to_string()),
            }),
            _ => Ok(()),
        }
    }

    fn withheld(&self, vault: &Known) -> Vec<String> {
        let blocked = self.blocked().filter(|place| place.is_inside(&vault.place));
        blocked.filter_map(|place| place.canonical().below(vault.place.canonical())).map(key).collect()
    }

    /// Where blocked vaults lie: those that are known, and every other folder a denial names.
    fn blocked(&self) -> impl Iterator<Item = &Place> {
        let known = self.known.iter().filter(|vault| !self.gate.admits(vault)).map(|vault| &vault.place);
        let is_known = |folder: &Place| self.known.iter().any(|vault| vault.place.is(folder));
        known.chain(self.gate.denied_folders().filter(move |folder| !is_known(folder)))
    }
}

fn key(below: &std::path::Path) -> String {
    fold::key(&below.to_string_lossy())
}

fn no_folder(path: &HostPath, problem: DirProblem) -> VaultError {
    let path = path.to_string();
    match problem {
        DirProblem::Missing => VaultError::VaultMissing { path },
        DirProblem::NotADirectory => VaultError::VaultNotADirectory { path },
        DirProblem::Unreadable => VaultError::VaultUnreadable { path },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::{
        VaultConfig,
        testing::{Disk, reason, registry},
    };

    fn admit(disk: &Disk, config: &VaultConfig, path_lists: bool, path: &str) -> Result<String, VaultError> {
        registry(config, path_lists).admit(&disk.host(path)).map(|admitted| admitted.vault.id)
    }

    fn overlap(result: Result<String, VaultError>) -> (VaultRelation, Option<String>) {
        match result {
            Err(VaultError::VaultOverlap { relation, other, .. }) => (relation, other),
            other => panic!("no overlap: {other:?}"),
        }
    }

    #[test]
    fn a_known_folder_is_that_vault_in_every_spelling() {
        let disk = Disk::with(&["v/Work"]);
        disk.link("alias", "v/Work");
        let config = disk.config_with_default("v/Work");
        for path in ["v/Work", "v/Work/", "v/../v/Work", "alias"] {
            assert_eq!(admit(&disk, &config, false, path).unwrap(), "default", "{path}");
        }
    }

    #[test]
    fn an_unknown_folder_is_a_vault_of_its_own_with_its_real_path_as_id() {
        let disk = Disk::with(&["Fresh"]);
        disk.link("alias", "Fresh");
        let id = admit(&disk, &disk.config(), false, "alias").unwrap();
        assert_eq!(id, format!("path:{}", disk.real("Fresh")));
    }

    #[test]
    fn what_is_no_folder_says_why_and_is_not_created() {
        let disk = Disk::with(&[]);
        disk.write("file", "");
        let config = disk.config_with_default("gone");
        for (path, expected) in [
            ("gone", "vault_missing"),
            ("file", "vault_not_a_directory"),
            ("file/x", "vault_not_a_directory"),
        ] {
            assert_eq!(reason(admit(&disk, &config, false, path)), expected, "{path}");
        }
        assert!(!disk.has("gone"));
    }

    #[test]
    fn a_folder_that_may_not_be_read_exists_but_is_unreadable() {
        let disk = Disk::with(&["Locked"]);
        let config = disk.config_with_default("Locked");
        if disk.locks("Locked", 0o311) {
            assert!(registry(&config, false).known[0].place.exists());
            assert_eq!(reason(admit(&disk, &config, false, "Locked")), "vault_unreadable");
        } else {
            eprintln!("skipped: root reads every folder");
        }
        disk.locks("Locked", 0o755);
    }

    #[test]
    fn a_denied_folder_is_forbidden_under_every_name() {
        let disk = Disk::with(&["v/Secret", "x"]);
        disk.link("x/l", "v/Secret");
        let config = VaultConfig { deny: vec![disk.text("v/Secret")], ..disk.config() };
        for path in ["v/Secret", "x/l", "v/Secret/"] {
            assert_eq!(reason(admit(&disk, &config, false, path)), "vault_forbidden", "{path}");
        }
    }

    #[test]
    fn a_link_that_is_pointed_elsewhere_is_judged_again() {
        let disk = Disk::with(&["Secret", "Open"]);
        disk.link("l", "Open");
        let config = VaultConfig {
            deny: vec!["Secret".into()],
            named: vec![("x".into(), disk.host("l"))],
            ..disk.config()
        };
        assert_eq!(admit(&disk, &config, false, "l").unwrap(), "env:x");
        disk.remove("l");
        disk.link("l", "Secret");
        let config = VaultConfig { deny: vec![disk.text("Secret")], ..config };
        assert_eq!(reason(admit(&disk, &config, false, "l")), "vault_forbidden");
    }

    #[test]
    fn with_an_allow_list_other_paths_are_forbidden_whether_they_exist_or_not() {
        let disk = Disk::with(&["a", "b"]);
        let config = VaultConfig { allow: Some(vec![disk.text("a")]), ..disk.config() };
        for path in ["b", "none"] {
            assert_eq!(reason(admit(&disk, &config, false, path)), "vault_forbidden", "{path}");
        }
        assert!(admit(&disk, &config, false, "a").is_ok());
    }

    #[test]
    fn the_default_is_served_though_its_name_is_denied() {
        let disk = Disk::with(&["v/Work"]);
        let config = VaultConfig { deny: vec!["Work".into()], ..disk.config_with_default("v/Work") };
        assert_eq!(admit(&disk, &config, false, "v/Work").unwrap(), "default");
    }

    fn problem(result: &Result<String, VaultError>) -> Option<RootProblem> {
        match result {
            Err(VaultError::VaultRootRefused { problem, .. }) => Some(*problem),
            _ => None,
        }
    }

    #[test]
    fn unfit_roots_are_refused_with_their_problem() {
        let disk = Disk::with(&["home/.ssh", ".dot", "n"]);
        let off = VaultConfig { ad_hoc: false, ..disk.config() };
        for (path, expected) in [
            ("/etc", Some(RootProblem::SystemRoot)),
            ("/", Some(RootProblem::SystemRoot)),
            ("home", Some(RootProblem::HomeRoot)),
            ("", Some(RootProblem::HomeRoot)),
            ("home/.ssh", Some(RootProblem::DotRoot)),
            (".dot", Some(RootProblem::DotRoot)),
            ("n", None),
        ] {
            assert_eq!(problem(&admit(&disk, &disk.config(), false, path)), expected, "{path}");
            assert_eq!(problem(&admit(&disk, &off, false, path)), expected.or(Some(RootProblem::AdHocOff)));
        }
    }

    #[test]
    fn what_the_operator_allowed_or_configured_may_be_a_dot_folder_but_never_the_home_folder() {
        let disk = Disk::with(&[".dot", "home/.config/n"]);
        let allow = [".dot", "home/.config/n", "home"].map(|path| disk.text(path)).to_vec();
        let config = VaultConfig { allow: Some(allow), ad_hoc: false, ..disk.config() };
        assert!(admit(&disk, &config, true, ".dot").is_ok());
        assert!(admit(&disk, &config, true, "home/.config/n").is_ok());
        assert_eq!(problem(&admit(&disk, &config, true, "home")), Some(RootProblem::HomeRoot));
        assert_eq!(admit(&disk, &disk.config_with_default("home"), true, "home").unwrap(), "default");
    }

    #[test]
    fn an_unknown_folder_in_or_around_a_vault_is_refused_while_a_path_list_is_set() {
        let disk = Disk::with(&["v/Work/Sub"]);
        let config = disk.config_with_default("v/Work");
        let work = Some(disk.text("v/Work"));
        assert_eq!(overlap(admit(&disk, &config, true, "v")), (VaultRelation::Contains, work.clone()));
        assert_eq!(overlap(admit(&disk, &config, true, "v/Work/Sub")), (VaultRelation::Inside, work));
        assert!(admit(&disk, &config, false, "v").is_ok());
        assert!(admit(&disk, &config, false, "v/Work/Sub").is_ok());
    }

    #[test]
    fn a_gate_list_refuses_overlaps_too_and_a_blocked_vault_is_not_named() {
        let disk = Disk::with(&["v/Secret/Sub", "v/Other/Sub"]);
        disk.obsidian_lists(&[("s", "v/Secret"), ("o", "v/Other")]);
        let config = VaultConfig { deny: vec!["Secret".into()], ..disk.config() };
        assert_eq!(overlap(admit(&disk, &config, false, "v/Secret/Sub")), (VaultRelation::Inside, None));
        let other = Some(disk.text("v/Other"));
        assert_eq!(overlap(admit(&disk, &config, false, "v/Other/Sub")), (VaultRelation::Inside, other));
        let allowed = VaultConfig { allow: Some(vec![disk.text("v/Other/Sub")]), ..config };
        assert!(admit(&disk, &allowed, true, "v/Other/Sub").is_ok());
    }

    #[test]
    fn a_folder_below_a_denied_one_is_no_way_round_the_denial() {
        let disk = Disk::with(&["Secret/Sub"]);
        let config = VaultConfig { deny: vec![disk.text("Secret")], ..disk.config() };
        assert_eq!(overlap(admit(&disk, &config, false, "Secret/Sub")), (VaultRelation::Inside, None));
    }

    #[test]
    fn of_two_listed_vaults_the_outer_one_is_served_under_a_path_list() {
        let disk = Disk::with(&["Outer/Inner", "Outer/Default"]);
        disk.obsidian_lists(&[("o", "Outer"), ("i", "Outer/Inner")]);
        let config = disk.config_with_default("Outer/Default");
        let outer = Some(disk.text("Outer"));
        assert_eq!(overlap(admit(&disk, &config, true, "Outer/Inner")), (VaultRelation::Inside, outer));
        assert_eq!(admit(&disk, &config, true, "Outer").unwrap(), "o");
        assert_eq!(admit(&disk, &config, true, "Outer/Default").unwrap(), "default");
        assert_eq!(admit(&disk, &config, false, "Outer/Inner").unwrap(), "i");
    }

    #[test]
    fn blocked_vaults_below_the_root_are_withheld() {
        let disk = Disk::with(&["Work/Private/Diary", "Work/Cafe\u{301}", "Else"]);
        disk.obsidian_lists(&[("p", "Work/Private/Diary"), ("e", "Else"), ("w", "Work")]);
        let deny = vec!["Diary".into(), "Else".into(), disk.text("Work/Cafe\u{301}")];
        let config = VaultConfig { deny, ..disk.config() };
        let admitted = registry(&config, false).admit(&disk.host("Work")).unwrap();
        assert_eq!(admitted.withheld, ["private/diary", "caf\u{e9}"]);
    }

    #[test]
    fn the_default_is_not_withheld_from_the_vault_around_it_though_it_is_denied() {
        let disk = Disk::with(&["v/Work"]);
        disk.obsidian_lists(&[("v", "v")]);
        let config = VaultConfig { deny: vec![disk.text("v/Work")], ..disk.config_with_default("v/Work") };
        let admitted = registry(&config, false).admit(&disk.host("v")).unwrap();
        assert_eq!(admitted.withheld, [""; 0]);
    }
}
