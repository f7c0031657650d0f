//! What a person or a model reads.

/// One content block of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image: base64 and its media type.
    Image {
        /// Standard base64, padded.
        data: String,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime: &'static str,
    },
}

/// An answer as text; it holds every fact of the structured form.
pub trait Render {
    /// The blocks, in reading order.
    fn blocks(&self) -> Vec<Block>;
}

/// Puts text of a vault between fences that it cannot close: longer than any run of backticks in it.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{newline}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced(""), "```\n```");
        assert_eq!(fenced("```rust\n```"), "````\n```rust\n```\n````");
        assert_eq!(fenced("x`````"), "``````\nx`````\n``````");
    }
}
