//! One comma list of paths, and the key by which paths are compared with it.

use crate::{path::vault_path::is_absolute, text::fold};

/// The paths of one list, in the operator's order and spelling, without repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PathList(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    shown: String,
    key: Key,
}

/// A path in the one form in which two spellings of it are equal: folded, `/` between its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    /// The key of a path as any caller spells it.
    pub(super) fn of(path: &str) -> Self {
        Self(fold::key(&cleaned(path)))
    }

    /// It is the vault itself.
    pub(super) const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The other path is this one or lies below it, by whole names.
    fn covers(&self, other: &Self) -> bool {
        let rest = other.0.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl PathList {
    /// Parses a comma list that is set; the message names the entry at fault.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let mut list = Self::default();
        for item in value.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            list.push(entry(item)?);
        }
        if list.0.is_empty() { Err("it is set but names no path".to_owned()) } else { Ok(list) }
    }

    /// The entries of both lists.
    pub(super) fn union(one: Option<&Self>, other: Option<&Self>) -> Self {
        let mut union = Self::default();
        for entry in one.into_iter().chain(other).flat_map(|list| &list.0) {
            union.push(entry.clone());
        }
        union
    }

    /// Adds folders that are known to be clean.
    pub(super) fn add(&mut self, folders: &[String]) {
        for folder in folders {
            self.push(Entry::of(cleaned(folder)));
        }
    }

    /// The entries as the operator spelt them.
    pub(super) fn entries(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.shown.clone()).collect()
    }

    /// The path is an entry or lies below one.
    pub(super) fn covers(&self, path: &Key) -> bool {
        self.0.iter().any(|entry| entry.key.covers(path))
    }

    /// Some entry lies below the folder.
    pub(super) fn lies_below(&self, folder: &Key) -> bool {
        self.0.iter().any(|entry| folder.covers(&entry.key))
    }

    /// The entries that the other list covers.
    pub(super) fn inside<'a>(&'a self, other: Option<&'a Self>) -> impl Iterator<Item = &'a str> {
        let covered = move |entry: &&Entry| other.is_some_and(|other| other.covers(&entry.key));
        self.0.iter().filter(covered).map(|entry| entry.shown.as_str())
    }

    fn push(&mut self, entry: Entry) {
        if !self.0.iter().any(|known| known.key == entry.key) {
            self.0.push(entry);
        }
    }
}

impl Entry {
    fn of(shown: String) -> Self {
        Self { key: Key::of(&shown), shown }
    }
}

fn entry(item: &str) -> Result<Entry, String> {
    let refuse = |why: &str| Err(format!("{item:?} {why}"));
    if item.chars().any(char::is_control) {
        return refuse("holds a control character");
    }
    if is_absolute(&item.replace('\\', "/")) {
        return refuse("is absolute; entries are relative to the vault");
    }
    let shown = cleaned(item);
    if shown.split('/').any(|name| name == "..") {
        return refuse("climbs with `..`");
    }
    if shown.is_empty() {
        return refuse("names the vault root; leave the variable unset to open the whole vault");
    }
    Ok(Entry::of(shown))
}

/// One kind of slash, no empty and no `.` names.
fn cleaned(path: &str) -> String {
    let names = path.split(['/', '\\']).filter(|name| !matches!(*name, "" | "."));
    names.collect::<Vec<_>>().join("/")
}
