//! The write path against real file systems, processes and signals.
#![expect(missing_docs, reason = "tests speak by their names")]
#![expect(clippy::disallowed_methods, reason = "tests are the other programs")]

mod adversary;
mod bench_vault;
mod create;
mod errors;
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
