//! What the built server costs over its pipes: the first reply, a read, a large write, and its memory at rest.
#![expect(clippy::disallowed_methods, reason = "benches are other programs")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot run says so by ending")]
#![expect(clippy::print_stdout, reason = "the numbers are for people")]

#[path = "../write_path/rows.rs"]
mod rows;
mod server;

use std::{
    fs::File,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use criterion::Criterion;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use serde_json::{Value, json};
use vaultwright::text::ContentHash;

use self::{
    rows::{Row, Timed, measure},
    server::Server,
};

const LARGE: usize = 25 * 1024 * 1024;

fn main() {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let proving = std::env::args().any(|argument| argument == "--test");
    first_reply(&mut criterion, if proving { 100 } else { 100_000 });
    small_read(&mut criterion);
    large_write(&mut criterion);
    criterion.final_summary();
}

/// The memory file system, where there is one.
fn scratch() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn first_reply(criterion: &mut Criterion, notes: usize) {
    let vault = scratch();
    for n in 0..notes {
        let folder = vault.path().join(format!("{:03}", n % 200));
        if n < 200 {
            std::fs::create_dir(&folder).unwrap();
        }
        File::create(folder.join(format!("Note {n}.md"))).unwrap();
    }
    let ours = Box::new(|| {
        let start = Instant::now();
        let server = Server::open(vault.path());
        let took = start.elapsed();
        drop(server);
        took
    });
    let name = format!("spawn to initialize reply, {notes} notes");
    measure(criterion, Row { name, target: "≤ 5000 µs", floor: None, ours });
    let server = Server::open(vault.path());
    println!("ROW idle memory: {} kB resident; target ≤ 12288 kB", server.resident_kib());
}

fn small_read(criterion: &mut Criterion) {
    let vault = scratch();
    std::fs::write(vault.path().join("note.md"), "a line of a note\n".repeat(4096 / 17)).unwrap();
    // Each side has the server to itself while it is timed, since they take turns.
    let server = std::cell::RefCell::new(Server::open(vault.path()));
    let call = |tool: &str, arguments: Value| server.borrow_mut().timed_call(tool, &arguments);
    let floor: Timed<'_> = Box::new(|| call("vault_reset", json!({})));
    let ours: Timed<'_> = Box::new(|| call("read_file", json!({ "path": "note.md" })));
    let name = "read_file of a 4 KiB note over stdio, to a call that does nothing".into();
    measure(criterion, Row { name, target: "≤ 2", floor: Some(floor), ours });
}

fn large_write(criterion: &mut Criterion) {
    let vault = scratch();
    let bytes: Vec<u8> = (0..LARGE).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let text = STANDARD.encode(&bytes);
    let mut server = Server::open(vault.path());
    let mut next = 0..;
    let folder = vault.path().to_owned();
    let ours: Timed<'_> = Box::new(|| {
        let name = format!("{}.bin", next.next().unwrap());
        let took = server.timed_call("write_file", &json!({ "path": name, "content": text }));
        std::fs::remove_file(folder.join(name)).unwrap();
        took
    });
    let floor: Timed<'_> = Box::new(|| decode_hash_publish(vault.path(), &text));
    let name = "write_file of 25 MiB as base64 over stdio, to decode, hash and publish".into();
    measure(criterion, Row { name, target: "≤ 3", floor: Some(floor), ours });
}

fn decode_hash_publish(folder: &Path, text: &str) -> Duration {
    let dir = File::open(folder).unwrap();
    let name = folder.join("floor.bin");
    let start = Instant::now();
    let bytes = STANDARD.decode(text).unwrap();
    std::hint::black_box(ContentHash::of(&bytes));
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let mut file: File = rustix::fs::openat(&dir, ".", flags, Mode::from_raw_mode(0o666)).unwrap().into();
    file.write_all(&bytes).unwrap();
    file.sync_data().unwrap();
    rustix::fs::linkat(&file, "", CWD, &name, AtFlags::EMPTY_PATH).unwrap();
    dir.sync_all().unwrap();
    let took = start.elapsed();
    std::fs::remove_file(name).unwrap();
    took
}
