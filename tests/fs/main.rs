//! The write path against real file systems, processes and signals.
#![expect(clippy::disallowed_methods, reason = "tests are the other programs")]
#![expect(unreachable_pub, reason = "the root of a test is no library")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "helpers of tests are tests"
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests are the other programs, and fail by panicking"
)]

mod adversary;
mod bench_vault;
mod create;
mod errors;
mod foreign;
mod group;
mod kills;
mod lab;
mod limits;
mod metadata;
mod mounts;
mod need;
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
