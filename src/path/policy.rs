//! Who may read and write which paths: the choke point that every surface asks.

mod list;

use std::fmt;

use list::{Key, PathList};

use crate::error::{PathError, PolicyOp, PolicyReason};

/// The variable of the read list.
pub const READ_PATHS: &str = "OBSIDIAN_READ_PATHS";
/// The variable of the write list.
pub const WRITE_PATHS: &str = "OBSIDIAN_WRITE_PATHS";
/// The variable of the deny list.
pub const DENY_PATHS: &str = "OBSIDIAN_DENY_PATHS";

/// The most entries of a scope that are shown.
const SHOWN: usize = 10;

/// The operator's path policy, the same for every vault.
///
/// Matching ignores case and Unicode normalisation on every file system and takes `\` for `/`. It is asked about the
/// path a caller names and again about the path that links resolve to; both must pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathPolicy {
    read: Option<PathList>,
    write: Option<PathList>,
    deny: Option<PathList>,
    read_only: bool,
}

/// A path list that no server can start with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// The variable.
    pub variable: &'static str,
    /// What is wrong with it.
    pub message: String,
}

/// What a policy leaves open, as the instructions for a model say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes {
    /// The paths that can be read; none when the whole vault can.
    pub readable: Option<Vec<String>>,
    /// The paths that can be written; none when the whole vault can.
    pub writable: Option<Vec<String>>,
    /// Paths inside these scopes are withheld.
    pub withholds: bool,
}

impl PathPolicy {
    /// Parses the three comma lists; an unset variable is none.
    ///
    /// Errors: an entry that is absolute, climbs with `..`, names the whole vault or holds a control character, and
    /// a list that is set but has no entry.
    pub fn parse(
        read: Option<&str>,
        write: Option<&str>,
        deny: Option<&str>,
        read_only: bool,
    ) -> Result<Self, ListError> {
        let list = |variable, value: Option<&str>| {
            let parsed = value.map(PathList::parse).transpose();
            parsed.map_err(|message| ListError { variable, message })
        };
        Ok(Self {
            read: list(READ_PATHS, read)?,
            write: list(WRITE_PATHS, write)?,
            deny: list(DENY_PATHS, deny)?,
            read_only,
        })
    }

    /// The same policy with more denied folders, for a vault in which a vault lies that the operator blocks.
    ///
    /// Like the entries of the deny list they are never named.
    #[must_use]
    pub fn with_denied(&self, folders: &[String]) -> Self {
        let mut policy = self.clone();
        if !folders.is_empty() {
            policy.deny.get_or_insert_default().add(folders);
        }
        policy
    }

    /// The path may be read.
    pub fn can_read(&self, path: &str) -> bool {
        self.read_refusal(&Key::of(path)).is_none()
    }

    /// The path may be written, and so read as well.
    pub fn can_write(&self, path: &str) -> bool {
        self.write_refusal(&Key::of(path)).is_none()
    }

    /// The folder may be shown, walked and named as a place to list: it can be read or leads to what can be.
    ///
    /// The root, an empty path, always may; a denied folder never, even on the way to an allowed one.
    pub fn can_list(&self, folder: &str) -> bool {
        let key = Key::of(folder);
        let leads = |list: &Option<PathList>| list.as_ref().is_some_and(|list| list.lies_below(&key));
        let denied = covered(self.deny.as_ref(), &key);
        key.is_root()
            || !denied && (self.read_refusal(&key).is_none() || leads(&self.read) || leads(&self.write))
    }

    /// Refuses a path that may not be read; `path` is named as it was given.
    pub fn check_read(&self, path: &str) -> Result<(), PathError> {
        match self.read_refusal(&Key::of(path)) {
            None => Ok(()),
            Some(reason) => Err(self.forbidden(path, PolicyOp::Read, reason)),
        }
    }

    /// Refuses a path that may not be written; `path` is named as it was given.
    pub fn check_write(&self, path: &str) -> Result<(), PathError> {
        match self.write_refusal(&Key::of(path)) {
            None => Ok(()),
            Some(reason) => Err(self.forbidden(path, PolicyOp::Write, reason)),
        }
    }

    /// Some path list is set.
    pub const fn has_lists(&self) -> bool {
        self.read.is_some() || self.write.is_some() || self.deny.is_some()
    }

    /// Nothing may be written.
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// What is open to reads and writes.
    pub fn scopes(&self) -> Scopes {
        let readable = self.read.is_some().then(|| self.read_scope());
        let writable = match (self.read_only, &self.write) {
            (true, _) => Some(Vec::new()),
            (false, Some(write)) => Some(write.entries()),
            (false, None) => readable.clone(),
        };
        Scopes { readable, writable, withholds: self.deny.is_some() }
    }

    /// The lists that are set, by variable, with their entries as the operator spelt them.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        [(READ_PATHS, &self.read), (WRITE_PATHS, &self.write), (DENY_PATHS, &self.deny)]
            .into_iter()
            .filter_map(|(variable, list)| Some((variable, list.as_ref()?.entries())))
    }

    /// What the operator may not have meant: the variable, and a sentence.
    pub fn warnings(&self) -> Vec<(&'static str, String)> {
        let mut warnings = Vec::new();
        if self.read_only && self.write.is_some() {
            warnings
                .push((WRITE_PATHS, "the server is read-only, so nothing can be written there".to_owned()));
        }
        for (variable, list) in [(READ_PATHS, &self.read), (WRITE_PATHS, &self.write)] {
            let useless = list.iter().flat_map(|list| list.inside(self.deny.as_ref()));
            warnings.extend(
                useless.map(|entry| (variable, format!("`{entry}` is denied and so grants nothing"))),
            );
        }
        for (variable, entries) in self.lists() {
            let hidden =
                entries.into_iter().filter(|entry| entry.split('/').any(|name| name.starts_with('.')));
            warnings.extend(hidden.map(|entry| {
                (variable, format!("`{entry}` is never reachable: a name in it starts with a dot"))
            }));
        }
        warnings
    }

    fn read_refusal(&self, key: &Key) -> Option<PolicyReason> {
        if self.read.is_some() && !covered(self.read.as_ref(), key) && !covered(self.write.as_ref(), key) {
            return Some(PolicyReason::OutsideReadPaths);
        }
        covered(self.deny.as_ref(), key).then_some(PolicyReason::DeniedPath)
    }

    fn write_refusal(&self, key: &Key) -> Option<PolicyReason> {
        if self.read_only {
            return Some(PolicyReason::ReadOnlyMode);
        }
        match (&self.write, &self.read) {
            (Some(write), _) if !write.covers(key) => Some(PolicyReason::OutsideWritePaths),
            (None, Some(read)) if !read.covers(key) => Some(PolicyReason::OutsideReadPaths),
            _ => covered(self.deny.as_ref(), key).then_some(PolicyReason::DeniedPath),
        }
    }

    fn forbidden(&self, path: &str, op: PolicyOp, subreason: PolicyReason) -> PathError {
        let active_scope = match subreason {
            PolicyReason::OutsideReadPaths => Some(self.read_scope()),
            PolicyReason::OutsideWritePaths => self.write.as_ref().map(PathList::entries),
            PolicyReason::ReadOnlyMode => Some(Vec::new()),
            PolicyReason::DeniedPath => None,
        };
        PathError::PathForbidden { path: path.to_owned(), op, subreason, active_scope }
    }

    fn read_scope(&self) -> Vec<String> {
        PathList::union(self.read.as_ref(), self.write.as_ref()).entries()
    }
}

fn covered(list: Option<&PathList>, key: &Key) -> bool {
    list.is_some_and(|list| list.covers(key))
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let except = if self.withholds { ", except paths the operator withholds" } else { "" };
        let words = |scope: &Option<Vec<String>>| match scope {
            None => format!("the whole vault{except}"),
            Some(entries) if entries.is_empty() => "none".to_owned(),
            Some(entries) => format!("{}{except}", shown(entries)),
        };
        write!(f, "Readable: {}. Writable: {}.", words(&self.readable), words(&self.writable))
    }
}

fn shown(entries: &[String]) -> String {
    match entries.get(SHOWN..) {
        Some(rest) if !rest.is_empty() => format!("{} and {} more", entries[..SHOWN].join(", "), rest.len()),
        _ => entries.join(", "),
    }
}

#[cfg(test)]
mod tests;
