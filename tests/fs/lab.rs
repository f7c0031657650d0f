//! Disks in files, loop devices and mounts, each gone again when its value is dropped, on a panic too.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A command by name, found also where the administrator's are, with its output kept and nothing to read.
pub fn command(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new(program);
    command.env("PATH", path).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs a program; what it printed, or why it failed.
pub fn attempt<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> Result<String, String> {
    let output = command(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    answer(program, &output)
}

fn answer(program: &str, output: &Output) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program}: {} {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// Runs a program that must succeed.
pub fn run<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> String {
    attempt(program, args).unwrap_or_else(|error| panic!("{error}"))
}

/// Waits for a state of the world; the deadline is for a broken one.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A loop device over a file.
#[derive(Debug)]
pub struct Loop(PathBuf);

impl Loop {
    pub fn over(file: &Path) -> Self {
        Self(run("losetup", [OsStr::new("--find"), OsStr::new("--show"), file.as_os_str()]).into())
    }

    pub fn device(&self) -> &Path {
        &self.0
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        detach(&self.0);
    }
}

fn detach(device: &Path) {
    if let Err(error) = attempt("losetup", [OsStr::new("--detach"), device.as_os_str()]) {
        crate::need::say(&error);
    }
}

/// A mount point in use.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// `mount args... point`.
    pub fn mount<A: AsRef<OsStr>>(args: &[A], point: &Path) -> Result<Self, String> {
        let args = args.iter().map(AsRef::as_ref).chain([point.as_os_str()]);
        attempt("mount", args).map(|_| Self(point.to_owned()))
    }

    /// Takes over a mount that a program of its own made.
    pub fn adopt(point: &Path) -> Self {
        Self(point.to_owned())
    }

    pub fn point(&self) -> &Path {
        &self.0
    }

    /// A file system must go cleanly before its disk is looked at.
    pub fn unmount(self) {
        wait_until("unmount", || attempt("umount", [&self.0]).is_ok());
        std::mem::forget(self);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if attempt("umount", [&self.0]).is_err()
            && let Err(error) = attempt("umount", [OsStr::new("--lazy"), self.0.as_os_str()])
        {
            crate::need::say(&error);
        }
    }
}

/// A folder or file that something is mounted on.
pub fn is_mount_point(path: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4).is_some_and(|point| Path::new(point) == path))
}

/// A file system in a file: how it is made and mounted.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub kind: &'static str,
    pub mebibytes: u64,
    pub options: &'static str,
}

pub const EXT4: Format = Format { kind: "ext4", mebibytes: 24, options: "commit=1" };
pub const XFS: Format = Format { kind: "xfs", mebibytes: 320, options: "rw" };
pub const BTRFS: Format = Format { kind: "btrfs", mebibytes: 128, options: "commit=1" };

impl Format {
    /// Writes an empty file system.
    pub fn make(&self, image: &Path) {
        std::fs::File::create(image).unwrap().set_len(self.mebibytes << 20).unwrap();
        let program = format!("mkfs.{}", self.kind);
        run(&program, [OsStr::new("-q"), image.as_os_str()]);
    }

    /// Mounts a disk.
    pub fn mount(&self, device: &Path, point: &Path) -> Result<Mounted, String> {
        let args = ["-t", self.kind, "-o", self.options].map(OsStr::new);
        Mounted::mount(&[args[0], args[1], args[2], args[3], device.as_os_str()], point)
    }

    /// Mounts an image file by a loop device that goes with the mount.
    pub fn mount_image(&self, image: &Path, point: &Path) -> Result<Mounted, String> {
        let with_loop = format!("loop,{}", self.options);
        let args = ["-t", self.kind, "-o", &with_loop].map(OsStr::new);
        Mounted::mount(&[args[0], args[1], args[2], args[3], image.as_os_str()], point)
    }
}
