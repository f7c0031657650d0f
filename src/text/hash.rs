//! The one form in which bytes are named: `sha256:` and 64 lowercase hexadecimal digits.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::error::ArgumentsError;

const PREFIX: &str = "sha256:";

/// The SHA-256 of a file's raw bytes.
///
/// Printed and parsed in the canonical form only: bare digits, upper case, blanks and the empty string are refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of a buffer.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Parses an argument; the error names the field and never echoes the value.
    pub fn parse(field: &str, text: &str) -> Result<Self, ArgumentsError> {
        text.parse().map_err(|Malformed| ArgumentsError::malformed_hash(field))
    }
}

/// A text that is not a hash in the canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl FromStr for ContentHash {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let digits = text.strip_prefix(PREFIX).ok_or(Malformed)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 {
            return Err(Malformed);
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(hash))
    }
}

const fn digit(byte: u8) -> Result<u8, Malformed> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(Malformed),
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A hash in the making, for bytes that never stand in memory as a whole.
#[derive(Default, Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Takes the next bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all that was taken in.
    pub fn finish(self) -> ContentHash {
        ContentHash(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

    #[test]
    fn known_bytes_have_their_known_hash() {
        assert_eq!(ContentHash::of(b"hello\n").to_string(), HELLO);
        assert_eq!(
            ContentHash::of(b"").to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn the_canonical_form_reads_back() {
        assert_eq!(HELLO.parse(), Ok(ContentHash::of(b"hello\n")));
    }

    #[test]
    fn every_other_form_is_malformed() {
        let bare = &HELLO[7..];
        let upper = HELLO.to_uppercase();
        let upper_digits = format!("sha256:{}", bare.to_uppercase());
        let blank = format!(" {HELLO}");
        let newline = format!("{HELLO}\n");
        let short = &HELLO[..70];
        let wide = format!("sha256:{}", "é".repeat(32));
        for text in ["", "sha256:", bare, &upper, &upper_digits, &blank, &newline, short, &wide] {
            assert_eq!(text.parse::<ContentHash>(), Err(Malformed), "{text:?}");
        }
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        let mut hasher = Hasher::default();
        hasher.update(b"hel");
        hasher.update(b"lo\n");
        assert_eq!(hasher.finish(), ContentHash::of(b"hello\n"));
    }
}
