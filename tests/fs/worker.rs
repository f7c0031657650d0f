//! Another process: this test binary again, doing one task.
//!
//! What it is to do stands in the environment, so that the 'test' is empty in an ordinary run.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{kills, lab, mounts};

const TASK: &str = "VAULTWRIGHT_TEST_TASK";
const FOLDER: &str = "VAULTWRIGHT_TEST_FOLDER";

#[test]
fn run() {
    let Ok(task) = std::env::var(TASK) else { return };
    let folder = std::env::var(FOLDER).unwrap();
    let folder = Path::new(&folder);
    match task.as_str() {
        "create on and on" => kills::create_on_and_on(folder),
        "replace on and on" => kills::replace_on_and_on(folder),
        "rename over on and on" => kills::rename_over_on_and_on(folder),
        "write in place on and on" => kills::write_in_place_on_and_on(folder),
        "create once" => kills::create_once(folder),
        "replace once" => kills::replace_once(folder),
        "sweep once" => kills::sweep_once(folder),
        "as nobody" => mounts::unprivileged::as_nobody(folder),
        "as nobody, linking by /proc" => mounts::unprivileged::as_nobody_by_proc(folder),
        other => panic!("no such task: {other}"),
    }
}

/// Lets a command that ends with this program do a task; the words after the program are its own.
pub fn task(mut command: Command, task: &str, folder: &Path) -> Command {
    command
        .args(["--exact", "worker::run", "--nocapture", "--quiet"])
        .env(TASK, task)
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// A process at work on a task; killed when dropped.
#[derive(Debug)]
pub struct Worker {
    pub child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    pub fn start(name: &str, folder: &Path) -> Self {
        Self::of(task(Command::new(std::env::current_exe().unwrap()), name, folder))
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// The rest of the next line that the worker tells; none when it ended without.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.stdout.read_line(&mut line).unwrap() > 0 {
            if let Some(at) = line.find(MARK) {
                return Some(line[at + MARK.len()..].trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    /// Lets the worker go on from [`wait_for_go`].
    pub fn go(&mut self) {
        self.stdin.write_all(b"go\n").unwrap();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            lab::wait_until("the worker ends", || matches!(self.child.try_wait(), Ok(Some(_))));
        }
    }
}

/// How a line of ours is told from the harness's own words.
const MARK: &str = "worker: ";

/// Inside the worker: tells the parent a line, in one write.
pub fn tell(line: &str) {
    let line = format!("\n{MARK}{line}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

/// Inside the worker: waits for the parent.
pub fn wait_for_go() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
