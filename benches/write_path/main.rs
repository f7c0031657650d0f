//! What the write path costs, each case beside its floor, measured in turns in the same run.
//!
//! The same-calls floor issues exactly the kernel calls of the operation, plus one hash of the content: what exceeds
//! it is our own. The shortest floor is the fewest calls with the same durable result.
#![expect(clippy::disallowed_methods, reason = "benches are other programs")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot run says so by ending")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the numbers are for people")]

mod creates;
mod floors;
mod parts;
mod replaces;
mod rows;
mod yard;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    parts::bench(&mut criterion);
    creates::bench(&mut criterion);
    replaces::bench(&mut criterion);
    criterion.final_summary();
}
