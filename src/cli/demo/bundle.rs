//! The vault that is built in.

use std::io;

use crate::fs::scratch::Scratch;

/// The name of the vault's folder, and so of the vault.
pub(super) const VAULT: &str = "everyday";

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/vault-fixtures/everyday/", $name)).as_slice(),
        )),*]
    };
}

/// Every file of `vault-fixtures/everyday`, in the order of their names.
const FILES: &[(&str, &[u8])] = bundled![
    ".obsidian/app.json",
    ".obsidian/daily-notes.json",
    "Attachments/garden-plan.png",
    "Daily/2026-11-28.md",
    "Daily/2026-11-29.md",
    "Daily/2026-11-30.md",
    "Home.md",
    "Inbox.md",
    "People/Ada Okafor.md",
    "People/Jonas Lind.md",
    "Projects/Bookshelf.md",
    "Projects/Garden.md",
    "Recipes/Crème brûlée.md",
    "Recipes/Pumpkin soup.md",
];

/// Puts the vault into a folder.
pub(super) fn unpack(scratch: &Scratch) -> io::Result<()> {
    FILES.iter().try_for_each(|(name, bytes)| scratch.put(&inside(name), bytes))
}

/// The path of a vault's file in the folder it was unpacked to.
pub(super) fn inside(name: &str) -> String {
    format!("{VAULT}/{name}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use walkdir::WalkDir;

    use super::*;

    #[test]
    fn the_bundle_is_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vault-fixtures/everyday");
        let files = WalkDir::new(&folder).sort_by_file_name().into_iter().map(Result::unwrap);
        let mut names: Vec<_> = files
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| entry.path().strip_prefix(&folder).unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        for (name, bytes) in FILES {
            assert_eq!(std::fs::read(folder.join(name)).unwrap(), *bytes, "{name}");
        }
    }

    #[test]
    fn the_unpacked_vault_has_every_file() {
        let scratch = Scratch::make("vaultwright-test-").unwrap();
        unpack(&scratch).unwrap();
        for (name, bytes) in FILES {
            assert_eq!(scratch.get(&inside(name)).unwrap(), *bytes, "{name}");
        }
    }
}
