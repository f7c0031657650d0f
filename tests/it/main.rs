//! The server as its clients see it, and the rules of its source.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests look at files and the environment directly, and fail by panicking"
)]

#[path = "../support/client.rs"]
mod client;
#[path = "../support/need.rs"]
mod need;
#[path = "../support/vault.rs"]
mod vault;

mod catalogue;
mod cli;
mod cli_demo;
mod cli_doctor;
mod eras;
mod errors;
mod hostile_arguments;
mod layering;
mod policy;
mod readme;
mod session;
mod stdio;
mod tools;
mod vectors;
