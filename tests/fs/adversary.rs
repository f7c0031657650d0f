//! Other processes: this test binary runs itself, and the run that is a worker acts on a vault as it is told.
//!
//! A worker reads orders from its stdin, one a line, and answers each with one line. What it does is in the module
//! whose tests it serves.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    time::{Duration, Instant, SystemTime},
};

use vaultwright::fs::{Root, WriteConfig};

use crate::{bench_vault, foreign, limits, sweep, turns, watch};

const ROLE: &str = "VAULTWRIGHT_TEST_ROLE";
const SCRATCH: &str = "VAULTWRIGHT_TEST_SCRATCH";
/// Answers start so; the test harness prints lines of its own.
const MARK: char = '@';
/// No order takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(3);

/// Acts on an order and answers.
pub(crate) type Act = Box<dyn FnMut(&[&str]) -> String>;

/// In the run that is a worker: acts until its stdin ends. In any other it is no test at all.
#[test]
fn run() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let arena = Arena::at(std::env::var(SCRATCH).unwrap().into());
    let mut act: Act = match role.as_str() {
        "foreign" => foreign::foreign(arena),
        "ours" => turns::ours(arena),
        "watcher" => watch::watcher(arena),
        "holder" => limits::holder(arena),
        "mortal" => sweep::mortal(arena),
        other => panic!("no such role: {other}"),
    };
    say("\n@ready");
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let words: Vec<&str> = order.split(' ').collect();
        let answer = act(&words);
        say(&format!("{MARK}{answer}"));
    }
}

/// Past the harness, which would keep what the print macros say.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Tests that need the machine's attention take turns: two cores cannot show six races at once.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that acts on an arena; it ends with its handle.
pub(crate) struct Worker {
    child: Child,
    orders: ChildStdin,
    answers: mpsc::Receiver<String>,
}

impl Worker {
    pub(crate) fn start(role: &str, arena: &Arena) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "adversary::run", "--nocapture"])
            .env(ROLE, role)
            .env(SCRATCH, &arena.scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Some(answer) = line.strip_prefix(MARK) else { continue };
                if sender.send(answer.to_owned()).is_err() {
                    return;
                }
            }
        });
        let mut worker = Self { child, orders, answers };
        assert_eq!(worker.answer(), "ready");
        worker
    }

    pub(crate) fn crew(role: &str, arena: &Arena, size: usize) -> Vec<Self> {
        (0..size).map(|_| Self::start(role, arena)).collect()
    }

    pub(crate) fn tell(&mut self, order: &str) {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
    }

    pub(crate) fn answer(&mut self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("an answer of the worker")
    }

    pub(crate) fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.answer()
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.answers.try_recv(), Err(mpsc::TryRecvError::Empty))
    }
}

impl Drop for Worker {
    /// As by `kill -9`.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A scratch folder with a vault and a state folder, known to several processes.
pub(crate) struct Arena {
    scratch: PathBuf,
    /// Of the process that made it alone.
    _owned: Option<tempfile::TempDir>,
}

impl Arena {
    fn at(scratch: PathBuf) -> Self {
        Self { scratch, _owned: None }
    }

    fn make(owned: tempfile::TempDir) -> Self {
        std::fs::create_dir(owned.path().join("vault")).unwrap();
        Self { scratch: owned.path().to_owned(), _owned: Some(owned) }
    }

    /// On tmpfs, where there is one.
    pub(crate) fn in_memory() -> Self {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
        Self::make(folder.unwrap())
    }

    /// In the default folder for scratch files.
    pub(crate) fn on_disk() -> Self {
        Self::make(tempfile::tempdir().unwrap())
    }

    pub(crate) fn open(&self, change: impl FnOnce(&mut WriteConfig)) -> Root {
        let mut config = bench_vault::config(&self.scratch.join("state"));
        change(&mut config);
        bench_vault::open(&self.path(""), config)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.join("vault").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(name)).ok()
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.bytes(name).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// Puts a file of its own inode at a name, whole.
    pub(crate) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.outside("fresh"), text).unwrap();
        std::fs::rename(self.outside("fresh"), self.path(name)).unwrap();
    }

    /// What the history holds: kind and bytes of each entry.
    pub(crate) fn history(&self) -> Vec<(String, Vec<u8>)> {
        walkdir::WalkDir::new(self.outside("state"))
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name() == "content")
            .map(|entry| {
                let meta = std::fs::read_to_string(entry.path().with_file_name("meta.json")).unwrap();
                let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
                (meta["kind"].as_str().unwrap().to_owned(), std::fs::read(entry.path()).unwrap())
            })
            .collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        bench_vault::names(&self.path(""))
    }
}

/// Random numbers from a seed that is printed (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// From `VAULTWRIGHT_SEED`, else from the clock.
    pub(crate) fn new(test: &str) -> Self {
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos();
        let given = std::env::var("VAULTWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from(clock));
        crate::need::say(&format!("{test}: VAULTWRIGHT_SEED={seed}"));
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below the limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// A time up to the limit.
    pub(crate) fn time(&mut self, limit: Duration) -> Duration {
        Duration::from_nanos(self.below(u64::try_from(limit.as_nanos()).unwrap()))
    }
}

/// Lets a time pass to the microsecond: asleep while it is long, then awake.
pub(crate) fn pass(time: Duration) {
    let start = Instant::now();
    let long = time.saturating_sub(Duration::from_micros(500));
    if long > Duration::from_micros(500) {
        std::thread::sleep(long);
    }
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Nanoseconds, as orders carry times.
pub(crate) fn nanos(word: &str) -> Duration {
    Duration::from_nanos(word.parse().unwrap())
}

/// An instant a little ahead at which several processes can meet, as nanoseconds since the epoch.
pub(crate) fn soon() -> u128 {
    let at = SystemTime::now() + Duration::from_micros(500);
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos()
}

/// Waits for such an instant.
pub(crate) fn meet(word: &str) {
    let at = SystemTime::UNIX_EPOCH + nanos(word);
    if let Ok(ahead) = at.duration_since(SystemTime::now()) {
        pass(ahead);
    }
}

/// Waits for a state, and fails when it does not come.
pub(crate) fn wait_for(what: &str, mut state: impl FnMut() -> bool) {
    let start = Instant::now();
    while !state() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(1));
    }
}
