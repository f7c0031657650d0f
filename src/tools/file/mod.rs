//! Bytes: `*_file`.

use crate::tools::Entry;

/// The family, in listing order.
pub const TOOLS: &[Entry] = &[];
