//! A folder as it lies at this call.

use crate::fs::{DirProblem, FoundDir, HostPath, Identity};

/// The folder in which Obsidian keeps a vault's settings.
const SETTINGS_FOLDER: &str = ".obsidian";

/// A path and the folder that is there now, if any.
///
/// Two places are one by the identity of their folders; only where there is no folder does the string decide.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// As it was configured or given.
    pub path: HostPath,
    folder: Option<Folder>,
}

#[derive(Debug, Clone)]
struct Folder {
    identity: Identity,
    canonical: HostPath,
    initialized: bool,
}

impl Place {
    /// Looks at a path.
    pub(super) fn look(path: &HostPath) -> Self {
        Self::of(path, FoundDir::find(path).as_ref())
    }

    /// The place of a path at which this was found.
    pub(super) fn of(path: &HostPath, found: Result<&FoundDir, &DirProblem>) -> Self {
        let folder = found.ok().map(|dir| Folder {
            identity: dir.identity,
            canonical: dir.canonical.clone(),
            initialized: dir.holds_folder(SETTINGS_FOLDER),
        });
        Self { path: path.clone(), folder }
    }

    /// What is at this place now, under the path of another that is the same.
    pub(super) fn under(self, path: HostPath) -> Self {
        Self { path, ..self }
    }

    /// There is a folder.
    pub(super) const fn exists(&self) -> bool {
        self.folder.is_some()
    }

    /// The folder has been set up by Obsidian.
    pub(super) fn is_initialized(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.initialized)
    }

    /// The real path; the given one where there is no folder.
    pub(super) fn canonical(&self) -> &HostPath {
        self.folder.as_ref().map_or(&self.path, |folder| &folder.canonical)
    }

    /// Both places are one.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.folder, &other.folder) {
            (Some(folder), Some(other)) => folder.identity == other.identity,
            (None, None) => self.path == other.path,
            _ => false,
        }
    }

    /// The place lies below the other, by whole names of the real paths.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        !self.is(other)
            && self.canonical() != other.canonical()
            && self.canonical().is_within(other.canonical())
    }

    /// Given and real path.
    pub(super) fn spellings(&self) -> [&HostPath; 2] {
        [&self.path, self.canonical()]
    }
}
