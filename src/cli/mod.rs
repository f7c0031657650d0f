//! The command line: the server by default, and other commands through the same library entries.

mod call;
mod chosen;
mod demo;
mod doctor;
mod exit;
mod hash;
mod log;
mod out;
mod peer;
mod read;
mod serve;
mod signals;
mod write;

pub use exit::Status;

use std::{
    env::consts::{ARCH, OS},
    ffi::OsString,
    io,
    sync::{Arc, LazyLock},
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind, parser::ValueSource};
use tokio::runtime::{Builder, Runtime};

use self::chosen::Chosen;
use crate::{
    cancel::CancelFlag,
    config::{Args, Config},
    error::{ArgumentProblem, Exit},
    serving::State,
};

/// Blocking work is bounded by its own pools; this is a bound on their threads.
const BLOCKING_THREADS: usize = 64;

/// The arguments of the program.
#[derive(Debug, Parser)]
#[command(name = "vaultwright", version = version(), about, max_term_width = 110)]
pub struct Cli {
    /// What to do; the server without it.
    #[command(subcommand)]
    command: Option<Command>,
    /// What everything depends on.
    #[command(flatten)]
    pub settings: Args,
    /// How a command talks.
    #[command(flatten)]
    manner: Manner,
}

/// How a command talks.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Manner {
    /// One JSON document on standard output, on failure too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log: log::Flags,
}

#[derive(Debug, Default, Subcommand)]
enum Command {
    /// Serve one client over standard input and output (the default)
    #[default]
    Serve,
    /// Put the bytes of a file, or of standard input, into the vault
    Write(write::Write),
    /// Write a file's bytes to standard output
    Read(read::Read),
    /// Print the hash of files
    Hash(hash::Hash),
    /// Call one tool as a client would
    Call(call::Call),
    /// Play a fixed session on the built-in vault, in a temporary folder
    Demo(demo::Demo),
    /// Tell what a vault's file system can do, and so what a write guarantees there
    Doctor(doctor::Doctor),
}

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Status {
    let arguments: Vec<_> = arguments.into_iter().collect();
    // What cannot be parsed cannot say how to answer either.
    let json = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    let mut cli = match parse(arguments) {
        Ok(cli) => cli,
        Err(error) => return out::usage(&error, json),
    };
    let command = cli.command.unwrap_or_default();
    let selector = command.selector(&mut cli.settings);
    // Settings that no server could start with are no obstacle to a look at what one does.
    let settings = if matches!(command, Command::Demo(_)) { Args::default() } else { cli.settings };
    let config = match Config::try_from(settings) {
        Ok(config) => config,
        Err(error) => return out::misused(ArgumentProblem::Type, &error, json),
    };
    log::start(cli.manner.log, &config.log_level);
    config.notices().iter().for_each(|notice| tracing::warn!("{notice}"));
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return out::broken(&error, Exit::Internal, json),
    };
    let state = Arc::new(State::new(config));
    if let Some(folder) = state.vaults.overlapping_source() {
        let why = "WRITE_FILE_SOURCE_PATHS (--write-file-source-paths)";
        let why = format!("{why}: `{folder}` is, holds or lies in a known vault");
        return out::misused(ArgumentProblem::Conflict, &why, json);
    }
    let chosen = Chosen { selector, json: cli.manner.json, cancel: CancelFlag::default() };
    let status = runtime.block_on(command.run(state, chosen));
    runtime.shutdown_background();
    status
}

/// Every flag may stand before or after the command.
fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let command = Cli::command().mut_args(|argument| argument.global(true));
    let matches = command.try_get_matches_from(arguments)?;
    let cli = Cli::from_arg_matches(&matches)?;
    // An empty variable is unset, but whoever gives the flag means a vault, and must not get another.
    if matches.value_source("vault") == Some(ValueSource::CommandLine) && cli.settings.names_no_vault() {
        let why = "--vault is given without a folder, id or name";
        return Err(Cli::command().error(ErrorKind::InvalidValue, why));
    }
    Ok(cli)
}

impl Command {
    /// The id or name of a vault; the server takes only a folder.
    fn selector(&self, settings: &mut Args) -> Option<String> {
        if matches!(self, Self::Serve) { None } else { settings.take_vault_selector() }
    }

    async fn run(self, state: Arc<State>, chosen: Chosen) -> Status {
        let cancel = chosen.cancel.clone();
        match self {
            Self::Serve => serve::run(state).await,
            Self::Write(write) => signals::or_interrupted(&cancel, write.run(&state, chosen)).await,
            Self::Read(read) => signals::or_interrupted(&cancel, read.run(&state, chosen)).await,
            Self::Hash(hash) => signals::or_interrupted(&cancel, hash.run(&state, chosen)).await,
            Self::Call(call) => signals::or_interrupted(&cancel, call.run(&state, chosen)).await,
            Self::Doctor(doctor) => signals::or_interrupted(&cancel, doctor.run(&state, chosen)).await,
            Self::Demo(demo) => signals::or_interrupted(&cancel, demo.run(chosen.json)).await,
        }
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).max_blocking_threads(BLOCKING_THREADS).enable_all().build()
}

/// Version and target: what a bug report needs.
fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let environment = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
        format!("{} {ARCH}-{OS}-{environment}", env!("CARGO_PKG_VERSION"))
    });
    &VERSION
}
