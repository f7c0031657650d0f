//! The program: its arguments in, its exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    vaultwright::cli::run(std::env::args_os()).into()
}
