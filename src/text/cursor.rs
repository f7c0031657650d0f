//! Opaque page cursors: version, digest of what is paged through, position.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
const DIGEST_LEN: usize = 12;
/// Version and digest; eight bytes of position follow.
const HEAD_LEN: usize = 1 + DIGEST_LEN;

/// What a page is a page of: the question and the state it was answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paged([u8; DIGEST_LEN]);

/// Why a cursor gives no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorProblem {
    /// It was never made by this program.
    Malformed,
    /// It belongs to another question, another state or another version.
    Stale,
}

impl Paged {
    /// Digests the question and the state, part by part, so that moving text between parts changes the digest.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let mut digest = [0; DIGEST_LEN];
        digest.copy_from_slice(&hash.finalize()[..DIGEST_LEN]);
        Self(digest)
    }

    /// The cursor that goes on at a position.
    pub fn cursor(&self, position: usize) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend(self.0);
        bytes.extend((position as u64).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of a cursor that was made for the same question and state.
    pub fn position(&self, cursor: &str) -> Result<usize, CursorProblem> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorProblem::Malformed)?;
        let split = bytes.split_last_chunk().filter(|(head, _)| head.len() == HEAD_LEN);
        let (head, position) = split.ok_or(CursorProblem::Malformed)?;
        if head[0] != VERSION || head[1..] != self.0 {
            return Err(CursorProblem::Stale);
        }
        usize::try_from(u64::from_be_bytes(*position)).map_err(|_| CursorProblem::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_gives_its_position_back() {
        let paged = Paged::of(["list", "a", "b"]);
        for position in [0, 1, 200, usize::MAX] {
            assert_eq!(paged.position(&paged.cursor(position)), Ok(position));
        }
    }

    #[test]
    fn a_cursor_of_another_question_or_state_is_stale() {
        let cursor = Paged::of(["list", "ab"]).cursor(7);
        for other in [&["list", "a"][..], &["list", "a", "b"], &["lista", "b"], &[]] {
            assert_eq!(Paged::of(other.iter().copied()).position(&cursor), Err(CursorProblem::Stale));
        }
    }

    #[test]
    fn a_cursor_of_another_version_is_stale() {
        let paged = Paged::of([]);
        let mut bytes = URL_SAFE_NO_PAD.decode(paged.cursor(7)).unwrap();
        bytes[0] = VERSION + 1;
        assert_eq!(paged.position(&URL_SAFE_NO_PAD.encode(bytes)), Err(CursorProblem::Stale));
    }

    #[test]
    fn what_is_no_cursor_is_malformed() {
        let paged = Paged::of([]);
        let cursor = paged.cursor(7);
        let padded = format!("{cursor}=");
        for text in ["", "7", "not base64!", &cursor[1..], &padded, " "] {
            assert_eq!(paged.position(text), Err(CursorProblem::Malformed), "{text:?}");
        }
    }

    #[test]
    fn a_cursor_needs_no_quoting_in_a_url() {
        let cursor = Paged::of(["x"]).cursor(usize::MAX);
        assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }
}
