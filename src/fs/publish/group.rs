//! Several new files at the price of one flush: the device is asked once for all of them.

use std::collections::{HashMap, HashSet};

use super::{
    super::{
        Place, Root,
        context::IoContext,
        sys::{self, Stat},
    },
    Content, DurableReason, Written,
    create::{self, Promise, Published},
    stage::{FLUSH, Flush, Staged},
    sync,
    target::Target,
};
use crate::error::Error;

/// The most files whose handles are open at once.
const BATCH: usize = 128;
/// From this many files on, one flush of the whole file system is cheaper than one of each.
const WORTH_ONE_FLUSH: usize = 4;

type Outcome<T> = Result<T, Error>;

impl Root {
    /// Publishes several new files, each by itself: whole, without clobbering, and refused or done on its own.
    ///
    /// Only the flushes are shared, so at full durability each answer is worth what that of [`Root::write`] is. The
    /// answers stand in the order of the files.
    pub fn create_many(&self, files: Vec<(Place, Content)>) -> Vec<Outcome<Written>> {
        let mut answers = Vec::with_capacity(files.len());
        let mut files = files.into_iter().peekable();
        while files.peek().is_some() {
            let (places, contents): (Vec<_>, Vec<_>) = files.by_ref().take(BATCH).unzip();
            answers.extend(self.create_batch(&places, contents));
        }
        answers
    }

    fn create_batch(&self, places: &[Place], contents: Vec<Content>) -> Vec<Outcome<Written>> {
        let staged = places.iter().zip(contents).map(|(place, content)| self.stage_one(place, content));
        let mut files: Vec<_> = staged.collect();
        if self.config.durable {
            flush(&mut files);
        }
        // A refused file gives its folders up only after all are published: others may be going into them.
        let published: Vec<_> = files.into_iter().map(|file| file.map(|file| file.publish(self))).collect();
        let mut flushed = FlushedFolders::default();
        let answers = published.into_iter().map(|file| {
            let (target, published) = file?;
            Ok(flushed.answer(self, target, published?))
        });
        answers.collect()
    }

    fn stage_one<'place>(&self, place: &'place Place, mut content: Content) -> Outcome<Batched<'place>> {
        if place.exists() {
            return Err(create::exists(self, place));
        }
        let target = Target::open(self, place)?;
        let staged = create::stage_new(self, &target, &mut content, Promise::NoClobber, Flush::Later);
        Ok(Batched { target, staged })
    }
}

/// A file of a batch, staged or refused, whose folders are there.
struct Batched<'place> {
    target: Target<'place>,
    staged: Outcome<Staged>,
}

impl<'place> Batched<'place> {
    fn publish(self, root: &Root) -> (Target<'place>, Outcome<Published>) {
        let published =
            self.staged.and_then(|staged| create::publish(root, &self.target, staged, Promise::NoClobber));
        (self.target, published)
    }
}

/// Flushes all staged files before any gets its name.
///
/// `syncfs` first, where it pays; the `fdatasync` of each file after it finds nothing to do but that file's own error.
fn flush(files: &mut [Outcome<Batched<'_>>]) {
    let staged =
        || files.iter().flatten().filter_map(|file| Some((&file.target, file.staged.as_ref().ok()?)));
    if staged().count() >= WORTH_ONE_FLUSH {
        let mut mounts = HashSet::new();
        for (target, staged) in staged() {
            if mounts.insert((target.stat.mount, target.stat.dev))
                && let Err(errno) = sys::sync_all(&staged.file)
            {
                tracing::debug!(?errno, "a file system could not be flushed as a whole");
            }
        }
    }
    for Batched { target, staged } in files.iter_mut().flatten() {
        let flushed = staged.as_ref().map_or(Ok(()), |staged| sys::sync_file(&staged.file));
        if let Err(error) = flushed.at(FLUSH, target.asked()) {
            *staged = Err(error);
        }
    }
}

/// Folders that were flushed since the last file was published in them.
#[derive(Default)]
struct FlushedFolders(HashMap<(u64, u64), Result<(), DurableReason>>);

impl FlushedFolders {
    fn answer(&mut self, root: &Root, target: Target<'_>, published: Published) -> Written {
        let durable = sync::last(root, &target, &published.file, |folder| self.flush(folder));
        published.answer(target, durable)
    }

    fn flush(&mut self, folder: &std::os::fd::OwnedFd) -> Result<(), DurableReason> {
        match sys::stat(folder) {
            Ok(Stat { dev, ino, .. }) => {
                *self.0.entry((dev, ino)).or_insert_with(|| sync::sync_folder(folder))
            }
            Err(_) => sync::sync_folder(folder),
        }
    }
}
