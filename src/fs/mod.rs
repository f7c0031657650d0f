//! Bytes, names and directory handles: how files get into, out of and around a vault.
//!
//! This module knows nothing of Markdown, YAML, vault settings or MCP.

mod caps;
mod context;
mod displaced;
pub mod host;
mod list;
mod lock;
pub mod probe;
mod publish;
mod read;
mod resolve;
pub mod root;
pub mod scratch;
mod source;
pub mod sys;

pub use host::{DirProblem, FileStamp, FoundDir, HostPath, Identity, OpenDir};
pub use publish::{
    Admit, Compute, Content, DurableReason, Expect, Guarantee, Incumbent, Ladder, Warning, Written,
};
pub use read::{Look, VaultFile};
pub use resolve::{Lookup, OUTSIDE, Place};
pub use root::Root;
pub use source::Source;

use std::time::Duration;

use rustix::io::Errno;

/// What the write path must know of the operator's settings.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the operator's switches")]
pub struct WriteConfig {
    /// The most bytes one write may publish.
    pub max_write_bytes: u64,
    /// The largest file that is hashed.
    pub max_hash_bytes: u64,
    /// A create may stage under a name, in a dot-folder, where unnamed files do not exist.
    pub named_staging: bool,
    /// Names that differ only in case may stand side by side.
    pub case_variants: bool,
    /// Content and name are flushed before a write is reported (`VAULT_DURABILITY=full`).
    pub durable: bool,
    /// The longest wait for a lock.
    pub lock_timeout: Duration,
    /// The best create and replace tiers that may be used: `(1, 1)` but for tests.
    pub max_tier: (u8, u8),
    /// What dead processes left is swept when a vault is opened; not where the vault is only read.
    pub sweeps: bool,
    /// Where what is ours and outlives a process is kept.
    pub state_dir: HostPath,
}

impl Default for WriteConfig {
    /// The defaults of the settings, without a folder for what outlives a process.
    fn default() -> Self {
        Self {
            max_write_bytes: 26_214_400,
            max_hash_bytes: 1_073_741_824,
            named_staging: false,
            case_variants: false,
            durable: true,
            lock_timeout: Duration::from_secs(5),
            max_tier: (1, 1),
            sweeps: true,
            state_dir: HostPath::nowhere(),
        }
    }
}

/// The symbolic name of an errno, for people.
pub(crate) fn errno_name(errno: Errno) -> String {
    let name = ERRNO_NAMES.iter().find(|(known, _)| *known == errno).map(|(_, name)| *name);
    name.map_or_else(|| format!("errno {}", errno.raw_os_error()), str::to_owned)
}

/// The errnos that files are known to answer with.
const ERRNO_NAMES: &[(Errno, &str)] = &[
    (Errno::ACCESS, "EACCES"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::BADF, "EBADF"),
    (Errno::BUSY, "EBUSY"),
    (Errno::DQUOT, "EDQUOT"),
    (Errno::EXIST, "EEXIST"),
    (Errno::FBIG, "EFBIG"),
    (Errno::INVAL, "EINVAL"),
    (Errno::IO, "EIO"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::LOOP, "ELOOP"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG"),
    (Errno::NFILE, "ENFILE"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOENT, "ENOENT"),
    (Errno::NOLCK, "ENOLCK"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::NOSYS, "ENOSYS"),
    (Errno::NOTCONN, "ENOTCONN"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::NOTEMPTY, "ENOTEMPTY"),
    (Errno::NOTTY, "ENOTTY"),
    (Errno::NXIO, "ENXIO"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::PERM, "EPERM"),
    (Errno::PIPE, "EPIPE"),
    (Errno::ROFS, "EROFS"),
    (Errno::STALE, "ESTALE"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
    (Errno::TXTBSY, "ETXTBSY"),
    (Errno::XDEV, "EXDEV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_has_the_name_that_people_search_for() {
        assert_eq!(errno_name(Errno::OPNOTSUPP), "EOPNOTSUPP");
        assert_eq!(errno_name(Errno::from_raw_os_error(1234)), "errno 1234");
    }
}
