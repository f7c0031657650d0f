//! A disk in memory, and what is left on it after a cut.

use std::{collections::BTreeMap, fs::File, io::Read, os::unix::fs::FileExt, path::Path, rc::Rc};

use super::log::Entry;
use crate::seeded::Seeded;

const BLOCK: usize = 4096;

/// The blocks of a disk that are not all zero.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    blocks: BTreeMap<u64, Rc<[u8; BLOCK]>>,
    size: u64,
}

impl Disk {
    pub fn load(image: &Path) -> Self {
        let mut file = File::open(image).unwrap();
        let size = file.metadata().unwrap().len();
        let mut disk = Self { blocks: BTreeMap::new(), size };
        let mut block = [0; BLOCK];
        for index in 0..size / BLOCK as u64 {
            file.read_exact(&mut block).unwrap();
            if block.iter().any(|byte| *byte != 0) {
                disk.blocks.insert(index, Rc::new(block));
            }
        }
        disk
    }

    /// Writes the disk as a sparse file.
    pub fn store(&self, image: &Path) {
        let file = File::create(image).unwrap();
        file.set_len(self.size).unwrap();
        for (index, block) in &self.blocks {
            file.write_all_at(block.as_slice(), index * BLOCK as u64).unwrap();
        }
    }

    fn write(&mut self, entry: &Entry) {
        let mut offset = entry.offset;
        let mut data = entry.data.as_slice();
        while !data.is_empty() {
            let start = usize::try_from(offset % BLOCK as u64).unwrap();
            let length = data.len().min(BLOCK - start);
            let block = self.blocks.entry(offset / BLOCK as u64).or_insert_with(|| Rc::new([0; BLOCK]));
            Rc::make_mut(block)[start..start + length].copy_from_slice(&data[..length]);
            data = &data[length..];
            offset += length as u64;
        }
    }
}

/// What became of the writes that no flush had yet made durable.
#[derive(Clone, Copy, Debug)]
pub enum Pending {
    All,
    Half,
    None,
}

/// A disk on its way through a log: what is durable, and what was written since.
#[derive(Debug)]
pub struct Replay<'log> {
    log: &'log [Entry],
    at: usize,
    durable: Disk,
    pending: Vec<&'log Entry>,
}

impl<'log> Replay<'log> {
    pub const fn new(base: Disk, log: &'log [Entry]) -> Self {
        Self { log, at: 0, durable: base, pending: Vec::new() }
    }

    /// Goes on to just before that entry.
    pub fn advance(&mut self, to: usize) {
        for entry in &self.log[self.at..to] {
            if entry.flushes {
                for earlier in self.pending.drain(..) {
                    self.durable.write(earlier);
                }
            }
            self.pending.push(entry);
        }
        self.at = to;
    }

    /// The disk as a cut here may leave it; an entry that is durable itself keeps its place among the others.
    pub fn cut(&self, pending: Pending, random: &mut Seeded) -> Disk {
        let mut disk = self.durable.clone();
        for entry in &self.pending {
            let kept = match pending {
                Pending::All => true,
                Pending::Half => random.coin(),
                Pending::None => false,
            };
            if kept || entry.lasts {
                disk.write(entry);
            }
        }
        disk
    }
}
