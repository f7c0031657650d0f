//! Strings only: cursors, hashes, folding, diffs. No file, no clock.

pub mod cursor;
pub mod diff;
pub mod fold;
pub mod hash;

pub use hash::{ContentHash, Hasher};
