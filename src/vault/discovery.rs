//! Where Obsidian keeps its list of vaults, and what is in those files now.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    VaultConfig,
    obsidian_json::{self, Parsed},
};
use crate::fs::{
    FileStamp, HostPath,
    host::{self, ReadProblem},
};

/// The largest registry file that is read.
const CAP: u64 = 1024 * 1024;
/// How long it is not asked again which files there are.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file that may list vaults.
#[derive(Debug, Clone)]
struct Candidate {
    label: &'static str,
    path: HostPath,
    /// The operator named it: that it is missing is an error, not silence.
    required: bool,
}

/// A registry file as it is at this call.
#[derive(Debug)]
pub(super) struct Found {
    pub label: &'static str,
    pub path: HostPath,
    pub content: Content,
}

/// What a file says, or why it says nothing.
type Content = Result<Arc<Parsed>, String>;

/// The registry files, parsed again only when they change.
#[derive(Debug)]
pub(super) struct Discovery {
    candidates: Vec<Candidate>,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    present: Option<(Instant, Vec<Candidate>)>,
    parsed: HashMap<HostPath, (FileStamp, Content)>,
}

impl Discovery {
    /// Knows where to look; looks at nothing.
    pub(super) fn new(config: &VaultConfig) -> Self {
        let candidates = if config.discovery { candidates(config) } else { Vec::new() };
        Self { candidates, cache: Mutex::default() }
    }

    /// Reads the files as they are now; `refresh` also looks anew which there are.
    pub(super) fn read(&self, refresh: bool, now: Instant) -> Vec<Found> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if refresh {
            *cache = Cache::default();
        }
        let present = cache.present(&self.candidates, now);
        present.into_iter().filter_map(|candidate| cache.find(candidate)).collect()
    }
}

fn candidates(config: &VaultConfig) -> Vec<Candidate> {
    if let Some(path) = &config.registry_file {
        return vec![Candidate { label: "configured", path: path.clone(), required: true }];
    }
    let usual = |label, path| Candidate { label, path, required: false };
    let xdg = config.xdg_config.iter().map(|folder| usual("xdg", folder.join("obsidian/obsidian.json")));
    let below_home = config
        .home
        .iter()
        .flat_map(|home| BELOW_HOME.iter().map(|(label, path)| usual(label, home.join(path))));
    xdg.chain(below_home).collect()
}

const BELOW_HOME: [(&str, &str); 4] = [
    ("native", ".config/obsidian/obsidian.json"),
    ("flatpak", ".var/app/md.obsidian.Obsidian/config/obsidian/obsidian.json"),
    ("snap", "snap/obsidian/current/.config/obsidian/obsidian.json"),
    ("macos", "Library/Application Support/obsidian/obsidian.json"),
];

impl Cache {
    fn present(&mut self, candidates: &[Candidate], now: Instant) -> Vec<Candidate> {
        match &self.present {
            Some((since, present)) if now.duration_since(*since) < PATIENCE => present.clone(),
            _ => self.present.insert((now, distinct(candidates))).1.clone(),
        }
    }

    fn find(&mut self, candidate: Candidate) -> Option<Found> {
        let Candidate { label, path, required } = candidate;
        let content = match host::stamp(&path) {
            Err(ReadProblem::Missing) if !required => return None,
            Err(problem) => Err(words(&problem)),
            Ok(stamp) => self.content(&path, stamp),
        };
        Some(Found { label, path, content })
    }

    fn content(&mut self, path: &HostPath, stamp: FileStamp) -> Content {
        if let Some((known, content)) = self.parsed.get(path)
            && *known == stamp
        {
            return content.clone();
        }
        let (bytes, stamp) = host::read(path, CAP).map_err(|problem| words(&problem))?;
        let content = obsidian_json::parse(&bytes).map(Arc::new);
        self.parsed.insert(path.clone(), (stamp, content.clone()));
        content
    }
}

/// The candidates that are there, each file once however many paths lead to it.
fn distinct(candidates: &[Candidate]) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    let is_new = |candidate: &&Candidate| match host::stamp(&candidate.path) {
        Ok(stamp) => seen.insert(stamp.identity()),
        Err(ReadProblem::Missing) => candidate.required,
        Err(_) => true,
    };
    candidates.iter().filter(is_new).cloned().collect()
}

fn words(problem: &ReadProblem) -> String {
    match problem {
        ReadProblem::Missing => "not found: there is no such file".into(),
        ReadProblem::NotAFile => "read failed: not a regular file".into(),
        ReadProblem::TooLarge => format!("read failed: larger than {CAP} bytes"),
        ReadProblem::Failed(errno) => format!("read failed: {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::testing::Disk;

    /// The path of a usual file on the disk.
    fn usual(n: usize) -> String {
        format!("home/{}", BELOW_HOME[n].1)
    }

    fn labels(found: &[Found]) -> Vec<&str> {
        found.iter().map(|file| file.label).collect()
    }

    fn ids(found: &[Found]) -> Vec<String> {
        let entries = found.iter().flat_map(|file| file.content.as_ref().unwrap().entries.iter());
        entries.map(|entry| entry.id.clone()).collect()
    }

    fn listing(id: &str) -> String {
        format!(r#"{{"vaults": {{"{id}": {{"path": "/v/{id}"}}}}}}"#)
    }

    #[test]
    fn every_file_there_is_is_read_in_the_order_of_the_table() {
        let disk = Disk::with(&[]);
        for n in (0..4).rev() {
            disk.write(&usual(n), "{}");
        }
        disk.write("xdg/obsidian/obsidian.json", "{}");
        let config = VaultConfig { xdg_config: Some(disk.host("xdg")), ..disk.config() };
        let found = Discovery::new(&config).read(false, Instant::now());
        assert_eq!(labels(&found), ["xdg", "native", "flatpak", "snap", "macos"]);
    }

    #[test]
    fn one_file_under_two_paths_is_read_once() {
        let disk = Disk::with(&[]);
        disk.write(&usual(0), "{}");
        disk.make("home/.var/app/md.obsidian.Obsidian/config/obsidian");
        disk.link(&usual(1), &usual(0));
        let config = VaultConfig { xdg_config: Some(disk.host("home/.config")), ..disk.config() };
        assert_eq!(labels(&Discovery::new(&config).read(false, Instant::now())), ["xdg"]);
    }

    #[test]
    fn discovery_that_is_off_reads_nothing() {
        let disk = Disk::with(&[]);
        disk.write(&usual(0), "{}");
        let config = VaultConfig { discovery: false, ..disk.config() };
        assert!(Discovery::new(&config).read(false, Instant::now()).is_empty());
    }

    #[test]
    fn a_configured_file_is_the_only_one_and_must_be_there() {
        let disk = Disk::with(&[]);
        disk.write(&usual(0), "{}");
        let config = VaultConfig { registry_file: Some(disk.host("my.json")), ..disk.config() };
        let found = Discovery::new(&config).read(false, Instant::now());
        assert_eq!(labels(&found), ["configured"]);
        assert!(found[0].content.as_ref().unwrap_err().starts_with("not found:"));
    }

    #[test]
    fn an_edit_is_seen_by_the_next_call() {
        let disk = Disk::with(&[]);
        let now = Instant::now();
        disk.write(&usual(0), &listing("aa"));
        let discovery = Discovery::new(&disk.config());
        assert_eq!(ids(&discovery.read(false, now)), ["aa"]);
        disk.write(&usual(0), &listing("bbb"));
        assert_eq!(ids(&discovery.read(false, now)), ["bbb"]);
    }

    #[test]
    fn an_unchanged_file_is_not_parsed_again() {
        let disk = Disk::with(&[]);
        disk.write(&usual(0), &listing("aa"));
        let discovery = Discovery::new(&disk.config());
        let read = || discovery.read(false, Instant::now()).remove(0).content.unwrap();
        assert!(Arc::ptr_eq(&read(), &read()));
    }

    #[test]
    fn a_new_file_is_seen_after_thirty_seconds_or_a_refresh() {
        let disk = Disk::with(&[]);
        let start = Instant::now();
        let discovery = Discovery::new(&disk.config());
        assert!(discovery.read(false, start).is_empty());
        disk.write(&usual(1), "{}");
        assert!(discovery.read(false, start + Duration::from_secs(29)).is_empty());
        assert_eq!(labels(&discovery.read(false, start + Duration::from_secs(30))), ["flatpak"]);
        disk.write(&usual(2), "{}");
        assert_eq!(labels(&discovery.read(true, start + Duration::from_secs(31))), ["flatpak", "snap"]);
    }

    #[test]
    fn a_file_that_goes_away_is_silent() {
        let disk = Disk::with(&[]);
        disk.write(&usual(0), "{}");
        let discovery = Discovery::new(&disk.config());
        assert_eq!(discovery.read(false, Instant::now()).len(), 1);
        disk.remove(&usual(0));
        assert!(discovery.read(false, Instant::now()).is_empty());
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let disk = Disk::with(&[]);
        disk.make(&usual(0));
        disk.write(&usual(1), &" ".repeat(1024 * 1024 + 1));
        disk.write(&usual(2), "{");
        let found = Discovery::new(&disk.config()).read(false, Instant::now());
        let errors: Vec<_> = found.iter().map(|file| file.content.as_ref().unwrap_err().as_str()).collect();
        assert_eq!(
            errors[..2],
            ["read failed: not a regular file", "read failed: larger than 1048576 bytes"]
        );
        assert!(errors[2].starts_with("JSON parse failed:"));
    }
}
