//! The files of a vault as calls see them: paths judged by policy, before and behind links.

use super::Vault;
use crate::{
    error::{Error, PathError, PolicyOp, WriteError, echo},
    fs::{HostPath, Lookup, Place},
    path::{VaultPath, suggest},
};

/// The most names that are looked through for one that is near.
const SIBLINGS_MAX: usize = 10_000;

impl Vault {
    /// Parses a path. An absolute one that lies in this vault is refused with the relative form to send.
    pub fn path(&self, given: &str) -> Result<VaultPath, Error> {
        VaultPath::parse(given).map_err(|error| {
            let path = echo(given);
            let error = match error {
                PathError::PathAbsolute { .. } => {
                    PathError::PathAbsolute { path, relative_path: self.relative(given) }
                }
                PathError::PathInvalid { problem, .. } => PathError::PathInvalid { path, problem },
                PathError::PathTraversal { .. } => PathError::PathTraversal { path },
                PathError::HiddenPath { .. } => PathError::HiddenPath { path },
                other => other,
            };
            error.into()
        })
    }

    /// The part below the vault's folder, as it was configured or as it is behind links.
    fn relative(&self, absolute: &str) -> Option<String> {
        let absolute = HostPath::parse(absolute)?;
        let canonical = self.record.canonical_path.as_deref().and_then(HostPath::parse);
        let mut roots = [Some(self.configured_path()), canonical.as_ref()].into_iter().flatten();
        let below = roots.find_map(|root| absolute.below(root))?.to_str()?;
        let relative = VaultPath::parse(below).ok()?;
        self.policy().can_read(relative.as_str()).then(|| relative.as_str().to_owned())
    }

    /// Looks a path up for reading. Policy is judged on the path and on where its links lead.
    pub fn place_to_read(&self, path: &VaultPath) -> Result<Place, Error> {
        self.policy().check_read(path.as_str())?;
        let place = self.look_up(path, Lookup::Read, PolicyOp::Read)?;
        self.admit(&place, path, PolicyOp::Read)?;
        Ok(place)
    }

    /// Looks a path up for a file that may be made or replaced. Policy is judged on the path and on where its links
    /// lead; what lies there is a regular file, or nothing.
    pub fn place_to_write(&self, path: &VaultPath) -> Result<Place, Error> {
        self.policy().check_write(path.as_str())?;
        let place = self.look_up(path, Lookup::Create, PolicyOp::Write)?;
        self.admit(&place, path, PolicyOp::Write)?;
        place.refuse_unless_file().map_err(|error| self.withhold(error))?;
        Ok(place)
    }

    /// Policy once more, on the path behind every link; a refusal names the path of the request.
    pub fn admit(&self, place: &Place, path: &VaultPath, op: PolicyOp) -> Result<(), Error> {
        self.judge(&place.canonical(), path, op)
    }

    fn judge(&self, canonical: &VaultPath, path: &VaultPath, op: PolicyOp) -> Result<(), Error> {
        let judged = match op {
            PolicyOp::Read => self.policy().check_read(canonical.as_str()),
            PolicyOp::Write => self.policy().check_write(canonical.as_str()),
        };
        judged.map_err(|error| renamed(error, path).into())
    }

    /// Looks a path up. What a look-up says of names is only told where its folder may be seen, links resolved.
    fn look_up(&self, path: &VaultPath, lookup: Lookup, op: PolicyOp) -> Result<Place, Error> {
        self.root().place(path, lookup).map_err(|error| match self.refuse_way(path, lookup, op) {
            Err(refusal) => refusal,
            Ok(()) => self.withhold(self.with_near_names(path, error)),
        })
    }

    /// A folder that links lead to, and that is hidden or withheld, is refused whether or not the name is in it.
    fn refuse_way(&self, path: &VaultPath, lookup: Lookup, op: PolicyOp) -> Result<(), Error> {
        let Some(canonical) = self.root().way(path, lookup) else { return Ok(()) };
        if is_hidden(&canonical) {
            return Err(PathError::HiddenPath { path: path.as_str().to_owned() }.into());
        }
        self.judge(&canonical, path, op)
    }

    /// The path may be told: it may be read under its name, and where links lead.
    fn can_tell(&self, path: &str, canonical: &VaultPath) -> bool {
        self.policy().can_read(path) && !is_hidden(canonical) && self.policy().can_read(canonical.as_str())
    }

    fn can_tell_path(&self, path: &str) -> bool {
        let spelled = VaultPath::found("", path);
        let canonical = self.root().way(&spelled, Lookup::Edit).unwrap_or_else(|| spelled.clone());
        self.can_tell(path, &canonical)
    }

    /// Adds names near a missing one.
    fn with_near_names(&self, path: &VaultPath, error: Error) -> Error {
        match error {
            Error::Path(PathError::FileMissing { path: asked, suggestions }) if suggestions.is_empty() => {
                let siblings = self.root().visible_files_beside(path, SIBLINGS_MAX);
                let sendable = siblings.iter().filter(|(path, _)| VaultPath::parse(path.as_str()).is_ok());
                let told = sendable.filter(|(path, canonical)| self.can_tell(path.as_str(), canonical));
                let others = told.map(|(path, _)| path.as_str()).filter(|near| *near != path.as_str());
                let suggestions = suggest::near(path.as_str(), others);
                PathError::FileMissing { path: asked, suggestions }.into()
            }
            other => other,
        }
    }

    /// Takes out of an error every path that policy withholds.
    pub fn withhold(&self, error: Error) -> Error {
        let readable = |path: &String| self.can_tell_path(path);
        match error {
            Error::Path(mut error) => {
                match &mut error {
                    PathError::FileMissing { suggestions: paths, .. }
                    | PathError::AmbiguousPath { candidates: paths, .. } => paths.retain(readable),
                    PathError::CaseVariantExists { existing_path: fact, .. } => {
                        fact.take_if(|path| !readable(path));
                    }
                    PathError::SymlinkRefused { target: fact, .. } => {
                        let hidden = |path: &str| is_hidden(&VaultPath::found("", path));
                        fact.take_if(|path| path != crate::fs::OUTSIDE && !hidden(path) && !readable(path));
                    }
                    _ => {}
                }
                error.into()
            }
            Error::Write(WriteError::FileExists { path, existing_path, size_in_bytes, .. })
                if !readable(&existing_path) =>
            {
                WriteError::FileExists {
                    existing_path: path.clone(),
                    path,
                    current_hash: None,
                    size_in_bytes,
                }
                .into()
            }
            other => other,
        }
    }
}

/// A name on the path starts with a dot.
fn is_hidden(path: &VaultPath) -> bool {
    path.as_str().split('/').any(|name| name.starts_with('.'))
}

/// The refusal of the path behind links, under the name that was asked for.
fn renamed(error: PathError, asked: &VaultPath) -> PathError {
    match error {
        PathError::PathForbidden { op, subreason, active_scope, .. } => {
            PathError::PathForbidden { path: asked.as_str().to_owned(), op, subreason, active_scope }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{
        path::PathPolicy,
        vault::{FileConfig, Vaults, testing::Disk},
    };

    fn vault(deny: &str) -> (Disk, Vault) {
        let disk = Disk::with(&["V/Notes", "V/secret"]);
        for (name, text) in [("V/Notes/Garden.md", "g"), ("V/secret/Garden.md", "s"), ("V/Café.md", "c")] {
            std::fs::write(disk.host(name).as_path(), text).unwrap();
        }
        symlink("secret", disk.host("V/open").as_path()).unwrap();
        symlink("secret/Garden.md", disk.host("V/link.md").as_path()).unwrap();
        let policy = PathPolicy::parse(None, None, (!deny.is_empty()).then_some(deny), false).unwrap();
        let vaults = Vaults::new(disk.config_with_default("V"), FileConfig::default(), policy);
        let vault = vaults.choose(None, None).unwrap();
        (disk, vault)
    }

    fn report(result: Result<Place, Error>) -> serde_json::Value {
        result.unwrap_err().report()["data"].clone()
    }

    #[test]
    fn an_absolute_path_inside_is_answered_with_its_relative_form() {
        let (disk, vault) = vault("");
        let error = vault.path(&disk.text("V/Notes/Garden.md")).unwrap_err();
        assert_eq!(error.report()["data"]["relativePath"], "Notes/Garden.md");
        assert!(vault.path("/etc/passwd").unwrap_err().report()["data"].get("relativePath").is_none());
    }

    #[test]
    fn a_miss_suggests_near_names_that_may_be_read() {
        let (_disk, open) = vault("");
        let path = VaultPath::parse("Notes/Gardn.md").unwrap();
        assert_eq!(report(open.place_to_read(&path))["suggestions"], serde_json::json!(["Notes/Garden.md"]));
        let (_disk, closed) = vault("Notes/Garden.md");
        assert_eq!(report(closed.place_to_read(&path))["suggestions"], serde_json::json!([]));
    }

    #[test]
    fn policy_is_judged_behind_links_under_the_asked_name() {
        let (_disk, vault) = vault("secret");
        for name in ["open/Garden.md", "link.md"] {
            let data = report(vault.place_to_read(&VaultPath::parse(name).unwrap()));
            assert_eq!(
                (data["reason"].as_str(), data["path"].as_str()),
                (Some("path_forbidden"), Some(name))
            );
            assert_eq!(data["subreason"], "denied_path");
        }
        let data = report(vault.place_to_write(&VaultPath::parse("open/new.md").unwrap()));
        assert_eq!(data["reason"], "path_forbidden");
    }

    #[test]
    fn the_target_of_a_link_is_not_told_when_it_may_not_be_read() {
        let (_disk, open) = vault("");
        let path = VaultPath::parse("link.md").unwrap();
        assert_eq!(report(open.place_to_write(&path))["target"], "secret/Garden.md");
    }

    #[test]
    fn a_case_twin_that_may_not_be_read_is_in_the_way_without_a_name() {
        let (_disk, vault) = vault("Café.md");
        let data = report(vault.place_to_write(&VaultPath::parse("Notes/garden.md").unwrap()));
        assert_eq!(data["existingPath"], "Notes/Garden.md");
        let data = report(vault.place_to_write(&VaultPath::parse("CAFÉ.md").unwrap()));
        assert_eq!(data["reason"], "path_forbidden");
    }
}
