//! What would change, before anything does.

use crate::fs::{Content, Expect, Place};

/// One file to publish: where, what it is believed to replace, and its bytes.
#[derive(Debug)]
pub struct Publish {
    /// Looked up, judged by policy, open.
    pub place: Place,
    /// What is believed to be there; there is no default.
    pub expect: Expect,
    /// Read once.
    pub content: Content,
}
