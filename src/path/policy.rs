//! Who may read and write which paths.

/// The operator's path policy.
#[derive(Debug, Clone, Default)]
pub struct PathPolicy {}
