//! How each file system is mounted.

use std::{ffi::OsStr, path::Path};

use crate::{
    lab::{Format, Mounted, attempt, is_mount_point, wait_until},
    need,
};

/// A mounted file system and what it stands on.
pub struct Stand {
    pub mounted: Mounted,
    pub scratch: tempfile::TempDir,
}

/// Mounts at `mnt` in a scratch folder, or says why the kernel refuses.
pub type Recipe = fn(&Path) -> Result<Mounted, String>;

pub fn stand(recipe: Recipe, test: &str) -> Option<Stand> {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["mnt", "lower", "upper", "work", "source", "cache"] {
        std::fs::create_dir(scratch.path().join(name)).unwrap();
    }
    match recipe(scratch.path()) {
        Ok(mounted) => Some(Stand { mounted, scratch }),
        Err(refused) => {
            need::skipped(test, &refused);
            None
        }
    }
}

pub fn on_loop(kind: &'static str, mebibytes: u64, at: &Path) -> Result<Mounted, String> {
    let format = Format { kind, mebibytes, options: "rw" };
    format.make(&at.join("image"));
    format.mount_image(&at.join("image"), &at.join("mnt"))
}

pub fn in_memory(kind: &str, at: &Path) -> Result<Mounted, String> {
    Mounted::mount(&["-t", kind, "vaultwright"], &at.join("mnt"))
}

fn layers(at: &Path) -> String {
    let at = at.display();
    format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work")
}

pub fn overlay(at: &Path) -> Result<Mounted, String> {
    Mounted::mount(&["-t", "overlay", "vaultwright", "-o", &layers(at)], &at.join("mnt"))
}

pub fn volatile_overlay(at: &Path) -> Result<Mounted, String> {
    let options = layers(at) + ",volatile";
    Mounted::mount(&["-t", "overlay", "vaultwright", "-o", &options], &at.join("mnt"))
}

/// A program that mounts and goes on in the background.
fn by_program(program: &str, args: &[&OsStr], point: &Path) -> Result<Mounted, String> {
    attempt(program, args)?;
    let mounted = Mounted::adopt(point);
    wait_until(program, || is_mount_point(point));
    Ok(mounted)
}

pub fn bindfs(at: &Path) -> Result<Mounted, String> {
    let (source, point) = (at.join("source"), at.join("mnt"));
    by_program("bindfs", &[source.as_os_str(), point.as_os_str()], &point)
}

pub fn fuse2fs(at: &Path) -> Result<Mounted, String> {
    let (image, point) = (at.join("image"), at.join("mnt"));
    Format { kind: "ext4", mebibytes: 24, options: "rw" }.make(&image);
    by_program("fuse2fs", &[image.as_os_str(), point.as_os_str()], &point)
}

pub fn fuse_overlayfs(at: &Path) -> Result<Mounted, String> {
    let (options, point) = (layers(at), at.join("mnt"));
    by_program("fuse-overlayfs", &[OsStr::new("-o"), options.as_ref(), point.as_os_str()], &point)
}

pub fn rclone(at: &Path) -> Result<Mounted, String> {
    let (source, cache, point) = (at.join("source"), at.join("cache"), at.join("mnt"));
    let words = ["mount", "--daemon", "--vfs-cache-mode", "writes", "--config", "/dev/null", "--cache-dir"];
    let mut args: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    args.extend([cache.as_os_str(), source.as_os_str(), point.as_os_str()]);
    by_program("rclone", &args, &point)
}
