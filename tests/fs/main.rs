//! The write path against real file systems, processes and signals.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests are the other programs, and fail by panicking"
)]

#[path = "../support/need.rs"]
mod need;

mod adversary;
mod bench_vault;
mod create;
mod errors;
mod foreign;
mod group;
mod hardening;
mod kills;
mod lab;
mod limits;
mod metadata;
mod mounts;
mod paths;
mod powercut;
mod races;
mod replace;
mod sealed;
mod seeded;
mod sweep;
mod turns;
mod update;
mod watch;
mod windows;
mod worker;
