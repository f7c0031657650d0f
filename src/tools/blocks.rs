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
