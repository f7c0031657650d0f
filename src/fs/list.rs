//! What lies in one folder.

use std::{ffi::OsStr, iter::successors};

use rustix::fs::OFlags;

use super::{Root, sys};
use crate::path::VaultPath;

impl Root {
    /// The visible names in the deepest folder that exists on the way to a path, as paths; at most `limit`. Each comes
    /// with its path behind every link.
    ///
    /// Empty where the folder cannot be listed: these are only suggestions.
    pub fn visible_files_beside(&self, path: &VaultPath, limit: usize) -> Vec<(VaultPath, VaultPath)> {
        let way_up = successors(Some(path.parent()), |folder| {
            (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
        });
        let mut open = way_up.filter_map(|spelled| Some((spelled, self.open_folder(spelled).ok()?)));
        let Some((spelled, folder)) = open.next() else { return Vec::new() };
        let names = visible_names(&folder.dir, limit);
        let both =
            |name: &String| (VaultPath::found(spelled, name), VaultPath::found(&folder.canonical, name));
        names.iter().map(both).collect()
    }
}

fn visible_names(dir: &std::os::fd::OwnedFd, limit: usize) -> Vec<String> {
    let mut names = Vec::new();
    let listed = sys::open(dir, OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY).and_then(|fresh| {
        sys::for_each_name(&fresh, |name, _| {
            let visible = name.to_str().ok().filter(|name| !name.starts_with('.'));
            names.extend(visible.filter(|_| names.len() < limit).map(str::to_owned));
        })
    });
    if let Err(errno) = listed {
        tracing::debug!(?errno, "a folder could not be listed for suggestions");
    }
    names
}
