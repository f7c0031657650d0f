//! What the process was started with, as one value: the only place that reads the environment.

use std::collections::BTreeMap;

use crate::fs::host::HostPath;

/// The environment and the start directory, taken once.
///
/// Tests and the demo build their own, so that nothing of the user's reaches them.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    start_dir: Option<HostPath>,
}

impl Environment {
    /// Takes the environment of this process.
    pub fn of_process() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
        let variables = std::env::vars_os();
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Self {
            variables: variables.map(|(name, value)| (text(name), text(value))).collect(),
            start_dir: std::env::current_dir().ok().and_then(HostPath::parse),
        }
    }

    /// An environment of the given variables alone.
    pub fn of<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, start_dir: None }
    }

    /// The same environment, started in a directory.
    #[must_use]
    pub fn started_in(self, start_dir: HostPath) -> Self {
        Self { start_dir: Some(start_dir), ..self }
    }

    /// A variable that is set, as [`super::value::given`] has it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).and_then(|value| super::value::given(value))
    }

    /// The set variables whose names start with the prefix, in byte order: the rest of the name, the value.
    pub(super) fn beginning<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.variables
            .iter()
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, super::value::given(value)?)))
    }

    /// A variable that holds an absolute path; a relative one is as good as none.
    pub(super) fn folder(&self, name: &str) -> Option<HostPath> {
        self.get(name).and_then(HostPath::parse)
    }

    /// The user's home.
    pub(super) fn home(&self) -> Option<HostPath> {
        self.folder("HOME")
    }

    /// An absolute path, or one below the home by `~/`; none for a relative one.
    pub(super) fn absolute(&self, path: &str) -> Option<HostPath> {
        match path.strip_prefix('~') {
            Some("") => self.home(),
            Some(below) if below.starts_with('/') => HostPath::parse(format!("{}{below}", self.home()?)),
            _ => HostPath::parse(path),
        }
    }

    /// The same, with a relative path taken against the start directory.
    pub(super) fn resolved(&self, path: &str) -> Option<HostPath> {
        let relative = || HostPath::parse(self.start_dir.as_ref()?.join(path).as_path());
        self.absolute(path).or_else(relative)
    }

    /// Where what is ours and outlives a process is kept.
    pub(super) fn state_dir(&self) -> Option<HostPath> {
        let base = self.folder("XDG_STATE_HOME").or_else(|| Some(self.home()?.join(".local/state")));
        base.map(|base| base.join("vaultwright"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Option<HostPath> {
        HostPath::parse(text)
    }

    #[test]
    fn the_state_folder_is_that_of_xdg_and_else_below_home() {
        for (variables, expected) in [
            (&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")][..], path("/s/vaultwright")),
            (&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")], path("/h/.local/state/vaultwright")),
            (&[("XDG_STATE_HOME", ""), ("HOME", "/h")], path("/h/.local/state/vaultwright")),
            (&[], None),
        ] {
            assert_eq!(Environment::of(variables.iter().copied()).state_dir(), expected);
        }
    }

    #[test]
    fn a_path_may_start_at_home_or_at_the_start_directory() {
        let environment = Environment::of([("HOME", "/h")]).started_in(path("/start/here").unwrap());
        for (given, resolved) in [
            ("/a/../b/", "/b"),
            ("~/Notes", "/h/Notes"),
            ("~", "/h"),
            ("../Notes", "/start/Notes"),
            (".", "/start/here"),
            ("~other/x", "/start/here/~other/x"),
        ] {
            assert_eq!(environment.resolved(given), path(resolved), "{given}");
        }
        assert_eq!(environment.absolute("Notes"), None);
    }

    #[test]
    fn the_process_has_a_start_directory() {
        assert!(Environment::of_process().resolved(".").is_some());
    }
}
