//! Each call of the write path tried once, in a private folder.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{fs::OFlags, io::Errno};

use super::{
    super::{
        caps::{Ability, Mount},
        errno_name,
        publish::{
            area::{Area, Slot},
            create::{NO_HARD_LINK, NO_RENAME_FLAG},
            stage::{self, NO_UNNAMED},
            swap::NO_EXCHANGE,
        },
        sys::{
            self, Step, Time,
            lease::{Lease, NO_LEASE},
        },
    },
    names,
};

/// A name that can be spelt in another case and in another Unicode form.
const TELLING_NAME: &str = "Caf\u{e9}";
/// Flushes, of which the one in the middle is told.
const FLUSHES: usize = 5;
/// What each flush writes.
const BLOCK: [u8; 4096] = [b'\n'; 4096];
/// Changes of a file's time that are waited for, and for how long.
const TICKS: usize = 3;
const TICKING: Duration = Duration::from_millis(50);
const SECOND: u64 = 1_000_000_000;

/// What a call answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Answer {
    /// It was not tried.
    #[default]
    Unknown,
    /// It works.
    Yes,
    /// It does not: the errno.
    No(String),
}

/// What only a write can tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tries {
    /// A file can be written before it has a name.
    pub unnamed: Answer,
    /// How such a file gets its name: `empty_path`, `proc_self_fd` or `none`.
    pub link_form: Option<&'static str>,
    /// A rename can refuse to replace.
    pub no_replace: Answer,
    /// Two names can be exchanged in one step.
    pub exchange: Answer,
    /// A file can have two names.
    pub hard_link: Answer,
    /// The kernel tells who writes to a file.
    pub lease: Answer,
    /// Files have extended attributes.
    pub xattrs: Answer,
    /// The step in which a file's times advance; at most a second.
    pub clock_nanos: Option<u64>,
    /// The middle of five flushes of 4 KiB.
    pub flush_micros: Option<u64>,
    /// Names that differ only in case are one file.
    pub folds_case: Option<bool>,
    /// Both Unicode spellings of a name are one file.
    pub folds_unicode: Option<bool>,
}

impl Answer {
    fn of<T>(result: &Result<T, Errno>) -> Self {
        result.as_ref().map_or_else(|errno| Self::No(errno_name(*errno)), |_| Self::Yes)
    }

    /// The answer of one call, kept for the write path too where it is one about the mount.
    fn learnt<T>(ability: &Ability, result: &Result<T, Errno>, unsupported: &[Errno]) -> Self {
        ability.learn(result, unsupported);
        Self::of(result)
    }
}

/// Tries everything in a fresh dot-folder of that folder, which is gone afterwards.
///
/// An error means that no file can be made there at all.
pub(super) fn run(dir: &OwnedFd, mount: &Mount) -> Result<Tries, Errno> {
    let area = Arc::new(Area::in_folder(dir)?);
    let (unnamed, link_form) = unnamed(&area, mount);
    let (folds_case, folds_unicode) = spellings(&area)?;
    Ok(Tries {
        unnamed,
        link_form: Some(link_form),
        no_replace: no_replace(&area, mount)?,
        exchange: exchange(&area, mount)?,
        hard_link: hard_link(&area, mount)?,
        lease: lease(&area, mount)?,
        xattrs: xattrs(&area)?,
        clock_nanos: Some(clock_nanos(&area)?),
        flush_micros: flush_micros(&area).ok(),
        folds_case,
        folds_unicode,
    })
}

/// A new empty file, unlinked when its slot is dropped.
fn file(area: &Arc<Area>) -> Result<(OwnedFd, Slot), Errno> {
    let mut slot = Slot::reserve(area);
    let file = sys::create_exclusive(slot.dir(), slot.name(), 0o600, Step::StageNamed)?;
    slot.fill();
    Ok((file, slot))
}

fn unnamed(area: &Arc<Area>, mount: &Mount) -> (Answer, &'static str) {
    let opened = sys::stage_unnamed(area.dir());
    let answer = Answer::learnt(&mount.unnamed, &opened, NO_UNNAMED);
    let mut slot = Slot::reserve(area);
    let linked = opened.and_then(|file| stage::link_unnamed(&file, slot.dir(), slot.name()));
    if linked.is_err() {
        return (answer, "none");
    }
    slot.fill();
    (answer, stage::link_form())
}

fn no_replace(area: &Arc<Area>, mount: &Mount) -> Result<Answer, Errno> {
    let (_, mut from) = file(area)?;
    let mut to = from.beside();
    let renamed = sys::rename_new(from.dir(), from.name(), to.dir(), to.name());
    if renamed.is_ok() {
        from.keep();
        to.fill();
    }
    Ok(Answer::learnt(&mount.no_replace, &renamed, NO_RENAME_FLAG))
}

fn exchange(area: &Arc<Area>, mount: &Mount) -> Result<Answer, Errno> {
    let (_, old) = file(area)?;
    let (_, new) = file(area)?;
    let exchanged = sys::exchange(new.dir(), new.name(), old.dir(), old.name());
    Ok(Answer::learnt(&mount.exchange, &exchanged, NO_EXCHANGE))
}

fn hard_link(area: &Arc<Area>, mount: &Mount) -> Result<Answer, Errno> {
    let (_, first) = file(area)?;
    let mut second = first.beside();
    let linked = sys::link(first.dir(), first.name(), second.dir(), second.name());
    if linked.is_ok() {
        second.fill();
    }
    Ok(Answer::learnt(&mount.hard_link, &linked, NO_HARD_LINK))
}

/// On a file that nobody has open for writing any more.
fn lease(area: &Arc<Area>, mount: &Mount) -> Result<Answer, Errno> {
    let (writer, slot) = file(area)?;
    drop(writer);
    let reader = sys::open(slot.dir(), slot.name(), OFlags::RDONLY | OFlags::NOFOLLOW)?;
    Ok(Answer::learnt(&mount.lease, &Lease::take(&reader), NO_LEASE))
}

fn xattrs(area: &Arc<Area>) -> Result<Answer, Errno> {
    let (file, _slot) = file(area)?;
    Ok(Answer::of(&sys::set_attribute(&file, OsStr::new("user.vaultwright"), b"1")))
}

fn clock_nanos(area: &Arc<Area>) -> Result<u64, Errno> {
    let (file, _slot) = file(area)?;
    let start = Instant::now();
    let (mut shown, mut least, mut ticks) = (sys::stat(&file)?.ctime, SECOND, 0);
    while ticks < TICKS && start.elapsed() < TICKING {
        sys::set_mode(&file, 0o600)?;
        let now = sys::stat(&file)?.ctime;
        if now != shown {
            least = least.min(nanos_between(shown, now));
            ticks += 1;
        }
        shown = now;
    }
    Ok(least)
}

fn nanos_between(earlier: Time, later: Time) -> u64 {
    let nanos = |time: Time| i128::from(time.0) * i128::from(SECOND) + i128::from(time.1);
    u64::try_from(nanos(later) - nanos(earlier)).unwrap_or(SECOND)
}

fn flush_micros(area: &Arc<Area>) -> Result<u64, Errno> {
    let (file, _slot) = file(area)?;
    let mut micros = [0; FLUSHES];
    for micros in &mut micros {
        sys::write(&file, &BLOCK)?;
        let start = Instant::now();
        sys::sync_file(&file)?;
        *micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    }
    micros.sort_unstable();
    Ok(micros[FLUSHES / 2])
}

/// How the folder takes other spellings of a name, in case and in Unicode form.
fn spellings(area: &Arc<Area>) -> Result<(Option<bool>, Option<bool>), Errno> {
    let name = OsStr::new(TELLING_NAME);
    sys::create_exclusive(area.dir(), name, 0o600, Step::StageNamed)?;
    let found = (names::fold_case(area.dir()), names::fold_unicode(area.dir()));
    sys::unlink(area.dir(), name)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_apart_across_seconds() {
        assert_eq!(nanos_between((1, 999_999_999), (2, 1)), 2);
        assert_eq!(nanos_between((2, 0), (1, 0)), SECOND);
    }
}
