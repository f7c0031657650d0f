//! A disk whose every write is logged: `qemu-storage-daemon` in front of an image, seen as a loop device.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use super::log;
use crate::lab::{Loop, Mounted, is_mount_point, run, wait_until};

/// A running daemon; stopped by its own process id.
#[derive(Debug)]
pub struct Daemon {
    export: PathBuf,
    log: PathBuf,
    pid: rustix::process::Pid,
}

impl Daemon {
    /// Exports the image as a file beside it.
    pub fn start(folder: &Path, image: &Path) -> Self {
        let (export, log, pid) = (folder.join("export"), folder.join("log"), folder.join("pid"));
        File::create(&export).unwrap();
        File::create(&log).unwrap().set_len(900 << 20).unwrap();
        let file =
            |name: &str, path: &Path| format!("driver=file,node-name={name},filename={}", path.display());
        let top = "driver=blklogwrites,node-name=top,file=image,log=log,log-sector-size=512,\
                   log-super-update-interval=1";
        let fuse = format!("type=fuse,id=export,node-name=top,mountpoint={},writable=on", export.display());
        run(
            "qemu-storage-daemon",
            [
                "--blockdev",
                &file("image", image),
                "--blockdev",
                &file("log", &log),
                "--blockdev",
                top,
                "--export",
                &fuse,
                "--pidfile",
                &pid.to_string_lossy(),
                "--daemonize",
            ],
        );
        let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        Self { export, log, pid: rustix::process::Pid::from_raw(pid).unwrap() }
    }

    pub fn attach(&self) -> Loop {
        Loop::over(&self.export)
    }

    pub fn log(&self) -> File {
        File::open(&self.log).unwrap()
    }

    /// Stops the daemon and reads all it logged.
    pub fn finish(self) -> Vec<log::Entry> {
        let log = self.log.clone();
        drop(self);
        log::read(&log)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        use rustix::process::{Signal, kill_process, test_kill_process};
        if kill_process(self.pid, Signal::TERM).is_ok() && !std::thread::panicking() {
            wait_until("the daemon ends", || test_kill_process(self.pid).is_err());
        }
        // A daemon that ends while its file is still in use leaves the mount behind.
        if is_mount_point(&self.export) {
            drop(Mounted::adopt(&self.export));
        }
    }
}
