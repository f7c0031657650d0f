//! The hash of a file of any size, or its bytes as they are: for the shell.

use std::{
    io::{self, Write},
    ops::Range,
};

use crate::{
    error::{Error, WriteError},
    text::ContentHash,
    vault::Vault,
};

/// The hash and the size of a file.
///
/// A file over the cap of what is hashed is `precondition_unavailable`, which names the setting.
pub fn hash(vault: &Vault, given: &str) -> Result<(ContentHash, u64), Error> {
    let place = vault.place_to_read(&vault.path(given)?)?;
    let cap = vault.files().max_hash_bytes;
    let look = vault.root().open_file(&place)?.hash(cap)?;
    let over_cap = || WriteError::over_hash_cap(given, look.size, cap);
    Ok((look.hash.ok_or_else(over_cap)?, look.size))
}

/// Writes a range of a file's bytes out, in constant memory; the inner result is that of the output.
///
/// The output is opened once the file is, so that a refused read makes none.
pub fn copy<W: Write>(
    vault: &Vault,
    given: &str,
    range: Range<u64>,
    open: impl FnOnce() -> io::Result<W>,
) -> Result<io::Result<W>, Error> {
    let place = vault.place_to_read(&vault.path(given)?)?;
    let file = vault.root().open_file(&place)?;
    let mut out = match open() {
        Ok(out) => out,
        Err(error) => return Ok(Err(error)),
    };
    let copied = file.copy_to(range, &mut out)?;
    Ok(copied.and_then(|()| out.flush()).map(|()| out))
}
