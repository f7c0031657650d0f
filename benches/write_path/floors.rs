//! The kernel calls of our operations in bare loops, as `strace` shows them of the release build.

use std::{
    fs::File,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, StatxFlags, fchmod,
    fdatasync, flistxattr, flock, fsync, linkat, openat, openat2, renameat, renameat_with, statx, unlinkat,
};
use vaultwright::text::ContentHash;

use crate::yard::{NOTE, Yard};

const STAT: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// A folder for the floors, open.
pub(crate) struct Bare {
    root: OwnedFd,
    area: OwnedFd,
    listing: Vec<MaybeUninit<u8>>,
    bytes: Vec<u8>,
}

impl Bare {
    pub(crate) fn new(yard: &Yard) -> Self {
        let (root, area) = (yard.handle("bare"), yard.handle("bare/.area"));
        Self { root, area, listing: vec![MaybeUninit::uninit(); 64 * 1024], bytes: vec![b'x'; NOTE] }
    }

    fn open_parent(&self) -> OwnedFd {
        openat2(&self.root, "notes", FOLDER, Mode::empty(), BENEATH).unwrap()
    }

    fn list(&mut self, folder: &OwnedFd) {
        let fresh = openat(folder, ".", FOLDER, Mode::empty()).unwrap();
        let mut entries = RawDir::new(&fresh, &mut self.listing);
        while let Some(entry) = entries.next() {
            std::hint::black_box(entry.unwrap().file_name());
        }
    }

    fn stage(&self, folder: &OwnedFd) -> OwnedFd {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let writer = openat(folder, ".", flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(rustix::io::write(&writer, &self.bytes).unwrap(), NOTE);
        std::hint::black_box(ContentHash::of(&self.bytes));
        writer
    }

    fn is_still_there(&self) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let again = openat2(&self.root, "notes", flags, Mode::empty(), BENEATH).unwrap();
        stat(&again);
    }

    /// As `create` of `notes/new.md`; the file is removed again off the clock.
    pub(crate) fn create(&mut self) -> Duration {
        let start = Instant::now();
        let parent = self.open_parent();
        assert!(statx(&parent, "new.md", AtFlags::SYMLINK_NOFOLLOW, STAT).is_err());
        stat(&parent);
        self.list(&parent);
        stat(&parent);
        let writer = self.stage(&parent);
        let file = reopen(&writer);
        fdatasync(&writer).unwrap();
        drop(writer);
        stat(&file);
        flock(&parent, FlockOperation::NonBlockingLockExclusive).unwrap();
        self.list(&parent);
        linkat(&file, "", &parent, "new.md", AtFlags::EMPTY_PATH).unwrap();
        self.is_still_there();
        flock(&parent, FlockOperation::Unlock).unwrap();
        fsync(&parent).unwrap();
        drop((file, parent));
        let took = start.elapsed();
        self.remove("new.md");
        took
    }

    /// The fewest calls for a new durable file.
    pub(crate) fn shortest_create(&mut self) -> Duration {
        let parent = self.open_parent();
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let start = Instant::now();
        let file = openat(&parent, ".", flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(rustix::io::write(&file, &self.bytes).unwrap(), NOTE);
        fdatasync(&file).unwrap();
        linkat(&file, "", &parent, "new.md", AtFlags::EMPTY_PATH).unwrap();
        fsync(&parent).unwrap();
        drop(file);
        let took = start.elapsed();
        self.remove("new.md");
        took
    }

    /// What programs do that promise nothing.
    pub(crate) fn unsafe_create(&mut self) -> Duration {
        let parent = self.open_parent();
        let start = Instant::now();
        self.write_named(&parent, "new.tmp");
        renameat(&parent, "new.tmp", &parent, "new.md").unwrap();
        let took = start.elapsed();
        self.remove("new.md");
        took
    }

    fn write_named(&self, folder: &OwnedFd, name: &str) -> OwnedFd {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(rustix::io::write(&file, &self.bytes).unwrap(), NOTE);
        file
    }

    fn remove(&self, name: &str) {
        unlinkat(self.open_parent(), name, AtFlags::empty()).unwrap();
    }

    pub(crate) fn put_incumbent(&self) {
        drop(self.write_named(&self.open_parent(), "old.md"));
    }

    /// The fewest calls for a durable replacement.
    pub(crate) fn shortest_replace(&mut self) -> Duration {
        let parent = self.open_parent();
        let start = Instant::now();
        let file = self.write_named(&self.area, "1");
        fdatasync(&file).unwrap();
        renameat(&self.area, "1", &parent, "old.md").unwrap();
        fsync(&parent).unwrap();
        drop(file);
        start.elapsed()
    }

    /// As a guarded `replace` of `notes/old.md`.
    pub(crate) fn replace(&mut self) -> Duration {
        let start = Instant::now();
        let parent = self.open_parent();
        stat_at(&parent, "old.md");
        stat(&parent);
        let old = openat2(&parent, "old.md", FILE, Mode::empty(), BENEATH).unwrap();
        stat(&old);
        stat(&old);
        read(&old);
        stat(&old);
        stat(&self.root);
        stat(&self.area);
        let file = self.stage_like(&old);
        linkat(&file, "", &self.area, "1", AtFlags::EMPTY_PATH).unwrap();
        flock(&parent, FlockOperation::NonBlockingLockExclusive).unwrap();
        Lease::take(&old);
        stat_at(&parent, "old.md");
        renameat_with(&self.area, "1", &parent, "old.md", RenameFlags::EXCHANGE).unwrap();
        stat_at(&self.area, "1");
        stat(&old);
        read(&old);
        Lease::check(&old);
        self.is_still_there();
        Lease::release(&old);
        flock(&parent, FlockOperation::Unlock).unwrap();
        fsync(&parent).unwrap();
        let named = openat(&parent, "old.md", FILE, Mode::empty()).unwrap();
        stat(&named);
        fchmod(&named, Mode::from_raw_mode(0o644)).unwrap();
        drop(named);
        unlinkat(&self.area, "1", AtFlags::empty()).unwrap();
        drop((file, old, parent));
        start.elapsed()
    }

    fn stage_like(&self, old: &OwnedFd) -> OwnedFd {
        let mut names = [0_u8; 1024];
        let writer = self.stage(&self.area);
        let file = reopen(&writer);
        flistxattr(&file, &mut names).unwrap();
        fchmod(&file, Mode::from_raw_mode(0o644)).unwrap();
        flistxattr(old, &mut names).unwrap();
        fdatasync(&writer).unwrap();
        drop(writer);
        stat(&file);
        file
    }

    /// What tells of writers that have the file open, and of bytes that changed: the price of the proof.
    pub(crate) fn proof(old: &OwnedFd) -> Duration {
        let mut buffer = vec![0; NOTE + 1];
        let start = Instant::now();
        Lease::take(old);
        assert_eq!(rustix::io::pread(old, &mut *buffer, 0).unwrap(), NOTE);
        std::hint::black_box(ContentHash::of(&buffer[..NOTE]));
        Lease::check(old);
        Lease::release(old);
        start.elapsed()
    }
}

fn stat(file: impl AsFd) {
    std::hint::black_box(statx(file, "", AtFlags::EMPTY_PATH, STAT).unwrap());
}

/// All of a note.
fn read(file: &OwnedFd) {
    let mut buffer = vec![0; NOTE + 1];
    assert_eq!(rustix::io::pread(file, &mut *buffer, 0).unwrap(), NOTE);
}

fn stat_at(folder: &OwnedFd, name: &str) {
    std::hint::black_box(statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, STAT).unwrap());
}

fn reopen(writer: &OwnedFd) -> OwnedFd {
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    stat(writer);
    let file = openat(CWD, path, flags, Mode::empty()).unwrap();
    stat(&file);
    file
}

/// The lease calls of the write path.
struct Lease;

impl Lease {
    fn take(file: &OwnedFd) {
        const F_SETSIG: libc::c_int = 10;
        assert_eq!(control(file, F_SETSIG, libc::SIGURG), 0);
        assert_eq!(control(file, libc::F_SETLEASE, libc::F_RDLCK), 0);
    }

    fn check(file: &OwnedFd) {
        assert_eq!(control(file, libc::F_GETLEASE, 0), libc::F_RDLCK);
    }

    fn release(file: &OwnedFd) {
        assert_eq!(control(file, libc::F_SETLEASE, libc::F_UNLCK), 0);
    }
}

#[expect(unsafe_code, reason = "fcntl with F_SETLEASE, F_GETLEASE and F_SETSIG has no safe wrapper")]
fn control(file: &OwnedFd, command: libc::c_int, argument: libc::c_int) -> libc::c_int {
    // SAFETY: the descriptor is borrowed and open, and all the commands take an int and touch no memory of ours.
    unsafe { libc::fcntl(file.as_raw_fd(), command, argument) }
}

/// A write of a large content into an unnamed file, and its hash, one after the other.
pub(crate) fn write_and_hash(folder: &OwnedFd, bytes: &[u8]) -> Duration {
    use std::io::Write;
    let start = Instant::now();
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, ".", flags, Mode::from_raw_mode(0o666)).unwrap());
    file.write_all(bytes).unwrap();
    std::hint::black_box(ContentHash::of(bytes));
    start.elapsed()
}

/// The raw opening of a folder four levels down.
pub(crate) fn open_deep(root: &OwnedFd) -> Duration {
    let start = Instant::now();
    drop(openat2(root, "a/b/c/d", FOLDER, Mode::empty(), BENEATH).unwrap());
    start.elapsed()
}
