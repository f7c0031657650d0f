//! What each tool does, as plain functions on a vault; `apply` alone writes.

pub mod apply;
pub mod hash_file;
pub mod mime;
pub mod plan;
pub mod read_file;
pub mod read_report;
pub mod report;
pub mod write_file;
