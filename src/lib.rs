//! `text` and `error` know nothing · `path` names · `fs` moves bytes · `vault` finds them · `ops` decides,
//! `apply` alone writes · `tools` speaks JSON · `mcp` speaks MCP · `transport` and `cli` carry it.
//!
//! What is absent where, and what enforces it:
//!
//! - A module imports only what its layer allows (`tests/it/layering.rs` holds the table).
//! - Nothing in a vault is written except by `ops::apply`.
//! - Files are touched in `fs` alone; notes are named by [`path::VaultPath`], host paths by [`fs::HostPath`].
//! - Syscalls are in `fs::sys`, one function each; `unsafe` is in `fs::sys::lease` alone.
//! - rmcp is named only in `mcp`, `transport` and `cli::peer`.
//! - No absolute host path stands in an error, other than one the caller named.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests set the scene with files"))]

pub mod cancel;
pub mod cli;
pub mod config;
pub mod error;
pub mod fs;
pub mod mcp;
pub mod ops;
pub mod path;
pub mod serving;
pub mod text;
pub mod tools;
pub mod transport;
pub mod vault;
