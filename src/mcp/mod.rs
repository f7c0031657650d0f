//! The tools as MCP speaks them, in both eras of the protocol.
//!
//! Nothing here touches a file or knows a rule of the vault.

mod client;
mod failure;
mod instructions;
mod render;
mod route;
pub mod server;

pub use server::Server;
