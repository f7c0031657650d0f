//! The write path against real file systems, processes and signals.
#![expect(clippy::disallowed_methods, reason = "tests are the other programs")]
#![expect(unreachable_pub, reason = "the root of a test is no library")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "helpers of tests are tests"
)]

mod adversary;
mod bench_vault;
mod create;
mod errors;
mod foreign;
mod group;
mod limits;
mod metadata;
mod paths;
mod races;
mod replace;
mod sweep;
mod turns;
mod update;
mod watch;
mod windows;
