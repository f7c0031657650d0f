//! Which vaults the operator admits: `KOBSIDIAN_VAULT_ALLOW` and `KOBSIDIAN_VAULT_DENY`.

use super::{VaultConfig, known::Known, place::Place, record::Source};
use crate::fs::HostPath;

/// The operator's two lists, their folders looked at for this call.
#[derive(Debug)]
pub(super) struct Gate {
    allow: Option<Vec<Rule>>,
    deny: Vec<Rule>,
}

#[derive(Debug)]
enum Rule {
    Folder(Place),
    Children(Place),
    Descendants(Place),
    Label(String),
}

impl Gate {
    /// Reads the lists and looks at the folders they name.
    pub(super) fn look(config: &VaultConfig) -> Self {
        let rules = |items: &Vec<String>| items.iter().map(|item| rule(item, config.home.as_ref())).collect();
        Self { allow: config.allow.as_ref().map(rules), deny: rules(&config.deny) }
    }

    /// The vault may be served. The default always is; a denial outranks an allowance.
    pub(super) fn admits(&self, vault: &Known) -> bool {
        let allowed = self.allow.is_none() || self.names(vault);
        vault.source == Source::EnvDefault || (allowed && !self.deny.iter().any(|rule| rule.matches(vault)))
    }

    /// The operator allowed this very vault.
    pub(super) fn names(&self, vault: &Known) -> bool {
        self.allow.iter().flatten().any(|rule| rule.matches(vault))
    }

    /// A list is set.
    pub(super) const fn is_set(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty()
    }

    /// The folders that a denial names. Each is a blocked vault, known or not.
    pub(super) fn denied_folders(&self) -> impl Iterator<Item = &Place> {
        self.deny.iter().filter_map(|rule| match rule {
            Rule::Folder(folder) => Some(folder),
            _ => None,
        })
    }
}

fn rule(item: &str, home: Option<&HostPath>) -> Rule {
    let (base, rule): (&str, fn(Place) -> Rule) = if let Some(base) = item.strip_suffix("/**") {
        (base, Rule::Descendants)
    } else if let Some(base) = item.strip_suffix("/*") {
        (base, Rule::Children)
    } else {
        (item, Rule::Folder)
    };
    folder(&format!("{base}/"), home)
        .map_or_else(|| Rule::Label(item.to_owned()), |path| rule(Place::look(&path)))
}

fn folder(item: &str, home: Option<&HostPath>) -> Option<HostPath> {
    match item.strip_prefix("~/") {
        Some(below) => HostPath::parse(home?.join(below).as_path()),
        None => HostPath::parse(item),
    }
}

impl Rule {
    fn matches(&self, vault: &Known) -> bool {
        match self {
            Self::Folder(folder) if folder.exists() => folder.is(&vault.place),
            Self::Folder(folder) => vault.place.spellings().contains(&&folder.path),
            Self::Children(folder) => vault.place.canonical().parent().as_ref() == Some(folder.canonical()),
            Self::Descendants(folder) => vault.place.is_inside(folder),
            Self::Label(label) => vault.has_id(label) || vault.has_name(label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::testing::Disk;

    fn list(items: &[String]) -> Vec<String> {
        items.to_vec()
    }

    fn denies(disk: &Disk, item: &str, vault: &str) -> bool {
        let config = VaultConfig { deny: list(&[item.to_owned()]), ..disk.config() };
        !Gate::look(&config).admits(&Known::named("some", &disk.host(vault)))
    }

    #[test]
    fn a_folder_is_denied_in_every_spelling() {
        let disk = Disk::with(&["Secret", "v"]);
        disk.link("alias", "Secret");
        for item in ["Secret", "Secret/", "v/../Secret", "./Secret", "alias", "v//..//Secret"] {
            assert!(denies(&disk, &disk.text(item), "Secret"), "{item}");
            assert!(denies(&disk, &disk.text(item), "alias"), "{item}");
            assert!(!denies(&disk, &disk.text(item), "v"), "{item}");
        }
    }

    #[test]
    fn a_path_is_not_folded_in_case() {
        let disk = Disk::with(&["Secret", "secret"]);
        assert!(denies(&disk, &disk.text("Secret"), "Secret"));
        assert!(!denies(&disk, &disk.text("secret"), "Secret"));
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let disk = Disk::with(&["home/Notes", "home/All/a"]);
        assert!(denies(&disk, "~/Notes", "home/Notes"));
        assert!(denies(&disk, "~/*", "home/Notes"));
        assert!(denies(&disk, "~/All/**", "home/All/a"));
        assert!(!denies(&disk, "~/Other", "home/Notes"));
    }

    #[test]
    fn a_star_covers_children_and_two_cover_all_below() {
        let disk = Disk::with(&["v/a/b", "w"]);
        disk.link("alias", "v");
        for (item, vault, expected) in [
            ("v/*", "v/a", true),
            ("v/*", "v/a/b", false),
            ("v/*", "v", false),
            ("v/**", "v/a", true),
            ("v/**", "v/a/b", true),
            ("v/**", "v", false),
            ("alias/**", "v/a/b", true),
            ("v/*", "alias/a", true),
            ("v/**", "w", false),
        ] {
            assert_eq!(denies(&disk, &disk.text(item), vault), expected, "{item} {vault}");
        }
    }

    #[test]
    fn a_folder_that_is_gone_is_known_by_its_spelling() {
        let disk = Disk::with(&[]);
        assert!(denies(&disk, &disk.text("gone/"), "gone"));
        assert!(denies(&disk, &disk.text("*"), "gone"));
        assert!(!denies(&disk, &disk.text("gone"), "Gone"));
    }

    #[test]
    fn a_label_is_an_id_or_a_name_in_any_case() {
        let disk = Disk::with(&["v"]);
        for (item, expected) in
            [("env:caf\u{e9}", true), ("ENV:CAF\u{e9}", false), ("CAFE\u{301}", true), ("caf", false)]
        {
            let config = VaultConfig { deny: list(&[item.to_owned()]), ..disk.config() };
            let vault = Known::named("caf\u{e9}", &disk.host("v"));
            assert_eq!(!Gate::look(&config).admits(&vault), expected, "{item}");
        }
    }

    #[test]
    fn only_what_is_allowed_is_admitted_and_a_denial_outranks_it() {
        let disk = Disk::with(&["a", "b"]);
        let config = VaultConfig {
            allow: Some(list(&["a".into(), "b".into()])),
            deny: list(&["b".into()]),
            ..disk.config()
        };
        let gate = Gate::look(&config);
        let admits = |name: &str| gate.admits(&Known::named(name, &disk.host(name)));
        assert_eq!((admits("a"), admits("b"), admits("c")), (true, false, false));
        assert!(gate.is_set());
    }

    #[test]
    fn the_default_passes_always() {
        let disk = Disk::with(&["Work"]);
        let config =
            VaultConfig { allow: Some(list(&["x".into()])), deny: list(&["Work".into()]), ..disk.config() };
        assert!(Gate::look(&config).admits(&Known::default(&disk.host("Work"))));
    }
}
