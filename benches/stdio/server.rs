//! The built server, spoken to in bare lines.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts it on a vault and waits for its first reply.
    pub(crate) fn open(vault: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_vaultwright"))
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("OBSIDIAN_VAULT_PATH", vault)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { child, input, output, next: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        server.ask(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        );
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    /// Calls a tool, which must succeed, and answers how long that took.
    pub(crate) fn timed_call(&mut self, tool: &str, arguments: &Value) -> Duration {
        let line = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let start = Instant::now();
        self.input.write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
        let elapsed = start.elapsed();
        assert!(reply.contains("structuredContent"), "{reply:.400}");
        elapsed
    }

    /// Resident memory as the kernel counts it.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        format!("{request}\n")
    }

    fn ask(&mut self, method: &str, params: &Value) {
        let line = self.request(method, params);
        self.input.write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
