//! The open vault folder: the public face of the write path.

use super::{HostPath, OpenDir, WriteConfig};

/// An open vault folder.
#[derive(Debug)]
pub struct Root {
    dir: OpenDir,
    configured: HostPath,
    config: WriteConfig,
}

impl Root {
    /// Takes an opened folder as a vault. `configured` is the path it was opened by.
    pub fn new(dir: OpenDir, configured: HostPath, config: WriteConfig) -> Self {
        Self { dir, configured, config }
    }
}
