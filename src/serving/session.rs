//! Which vault a session selected.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use schemars::JsonSchema;
use serde::Serialize;

/// The most sessions whose selection is kept; the oldest goes first.
const SESSION_CAP: usize = 1024;

/// Whose selection it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionKey {
    /// The one client of a stdio process.
    Process,
    /// A client of an HTTP session.
    Http(String),
}

/// How far a selection reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "a documented variant turns the wire enum into a union of constants")]
pub enum Scope {
    Process,
    Session,
    None,
}

impl Scope {
    /// The scope of a key; no key is no scope.
    pub const fn of(key: Option<&SessionKey>) -> Self {
        match key {
            Some(SessionKey::Process) => Self::Process,
            Some(SessionKey::Http(_)) => Self::Session,
            None => Self::None,
        }
    }
}

/// A vault chosen for the calls that follow: its folder as it was named. Identity is taken anew at every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The configured or given absolute path.
    pub path: String,
    /// (device, inode) of the root when it was selected, for telling whether a new selection changes anything.
    pub identity: (u64, u64),
}

/// The selections of all sessions.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    clock: u64,
    selections: HashMap<SessionKey, (u64, Selection)>,
}

impl Sessions {
    /// What the session selected.
    pub fn get(&self, key: &SessionKey) -> Option<Selection> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.selections.get(key).map(|(_, selection)| selection.clone())
    }

    /// Keeps a selection and answers the one before it.
    pub fn set(&self, key: SessionKey, selection: Selection) -> Option<Selection> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let stamp = kept.clock;
        let previous = kept.selections.insert(key, (stamp, selection));
        kept.drop_oldest();
        previous.map(|(_, selection)| selection)
    }

    /// Forgets the session's selection and answers it.
    pub fn clear(&self, key: &SessionKey) -> Option<Selection> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.selections.remove(key).map(|(_, selection)| selection)
    }
}

impl Kept {
    fn drop_oldest(&mut self) {
        if self.selections.len() <= SESSION_CAP {
            return;
        }
        let oldest = self.selections.iter().min_by_key(|(_, (stamp, _))| *stamp).map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            self.selections.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(path: &str) -> Selection {
        Selection { path: path.into(), identity: (1, 2) }
    }

    #[test]
    fn one_session_does_not_see_anothers_selection() {
        let sessions = Sessions::default();
        sessions.set(SessionKey::Process, selection("/a"));
        assert_eq!(sessions.get(&SessionKey::Http("x".into())), None);
        assert_eq!(sessions.get(&SessionKey::Process), Some(selection("/a")));
    }

    #[test]
    fn a_new_selection_answers_the_old_one() {
        let sessions = Sessions::default();
        assert_eq!(sessions.set(SessionKey::Process, selection("/a")), None);
        assert_eq!(sessions.set(SessionKey::Process, selection("/b")), Some(selection("/a")));
        assert_eq!(sessions.clear(&SessionKey::Process), Some(selection("/b")));
        assert_eq!(sessions.clear(&SessionKey::Process), None);
    }

    #[test]
    fn the_oldest_of_too_many_goes() {
        let sessions = Sessions::default();
        for n in 0..=SESSION_CAP {
            sessions.set(SessionKey::Http(n.to_string()), selection("/a"));
        }
        assert_eq!(sessions.get(&SessionKey::Http("0".into())), None);
        assert!(sessions.get(&SessionKey::Http(SESSION_CAP.to_string())).is_some());
    }
}
