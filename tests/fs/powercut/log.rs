//! The log of `blklogwrites`: each write a disk got, in order, with its flushes.
//!
//! Little endian. A superblock: magic, version, number of entries, sector size. From sector 1 on, each entry is a
//! sector headed by its first sector, its sectors, its flags and the length of its data, then the data, unless it is a
//! discard.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

const MAGIC: u64 = 0x6a_7366_7773_6872;
pub const SECTOR: u64 = 512;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

/// One request a disk got.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// In bytes.
    pub offset: u64,
    /// What was written there; nothing for a flush or a discard.
    pub data: Vec<u8>,
    /// All before it is durable.
    pub flushes: bool,
    /// It is durable itself.
    pub lasts: bool,
}

/// How many entries the log of a running daemon holds.
pub fn count(log: &File) -> usize {
    let mut head = [0; 24];
    log.read_exact_at(&mut head, 0).unwrap();
    usize::try_from(number(&head, 2)).unwrap()
}

fn number(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(bytes[index * 8..index * 8 + 8].try_into().unwrap())
}

/// Reads a whole log.
pub fn read(path: &Path) -> Vec<Entry> {
    let log = File::open(path).unwrap();
    let mut head = [0; 28];
    log.read_exact_at(&mut head, 0).unwrap();
    assert_eq!((number(&head, 0), number(&head, 1)), (MAGIC, 1), "not a log of version 1");
    assert_eq!(head[24..28], 512_u32.to_le_bytes(), "the sector size asked for");
    let mut at = SECTOR;
    (0..number(&head, 2)).map(|_| read_entry(&log, &mut at)).collect()
}

fn read_entry(log: &File, at: &mut u64) -> Entry {
    let mut head = [0; 32];
    log.read_exact_at(&mut head, *at).unwrap();
    *at += SECTOR;
    let (sector, sectors, flags) = (number(&head, 0), number(&head, 1), number(&head, 2));
    let mut data = Vec::new();
    if flags & DISCARD == 0 {
        data = vec![0; usize::try_from(sectors * SECTOR).unwrap()];
        log.read_exact_at(&mut data, *at).unwrap();
        *at += sectors * SECTOR;
    }
    Entry { offset: sector * SECTOR, data, flushes: flags & FLUSH != 0, lasts: flags & FUA != 0 }
}

#[test]
fn a_log_is_read_as_the_daemon_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let sector = |numbers: &[u64]| {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.resize(512, 0);
        bytes
    };
    let data = vec![7; 1024];
    let log = [
        sector(&[MAGIC, 1, 3, 512]),
        sector(&[4, 2, FUA, 1024]),
        data.clone(),
        sector(&[8, 16, DISCARD, 8192]),
        sector(&[0, 0, FLUSH, 0]),
    ];
    std::fs::write(&path, log.concat()).unwrap();
    assert_eq!(count(&File::open(&path).unwrap()), 3);
    let entry = |offset, data, flushes, lasts| Entry { offset, data, flushes, lasts };
    assert_eq!(
        read(&path),
        [entry(2048, data, false, true), entry(4096, vec![], false, false), entry(0, vec![], true, false)]
    );
}
