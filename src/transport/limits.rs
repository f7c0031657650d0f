//! The one formula for the size of a message.

const MIB: u64 = 1024 * 1024;

/// The largest file whose base64 is sure to pass in one message.
const LARGEST_FILE: u64 = 256 * MIB;

/// The longest text that is sure to pass, even if JSON escapes each byte of it as six.
const LARGEST_TEXT: u64 = 10 * MIB;

/// What a message holds beside the file.
const ENVELOPE: u64 = MIB;

/// The most bytes of one message under `MAX_FILE_WRITE_BYTES`: 63 963 136 by default.
pub fn max_message(max_write_bytes: u64) -> usize {
    let file = 2 * max_write_bytes.min(LARGEST_FILE);
    let bytes = file.max(6 * LARGEST_TEXT) + ENVELOPE;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_specification() {
        assert_eq!(max_message(26_214_400), 63_963_136);
        assert_eq!(max_message(0), 63_963_136);
        assert_eq!(max_message(u64::MAX), 537_919_488);
    }
}
