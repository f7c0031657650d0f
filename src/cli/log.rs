//! Logs, for people, on standard error.

use std::io::{IsTerminal, stderr};

use clap::ValueEnum;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{FilterExt, FilterFn, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// What the command line says about logs.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Flags {
    /// Log errors alone
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Log what is done
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When messages are coloured; `auto` is on a terminal, without `NO_COLOR`
    #[arg(long, global = true, value_enum, default_value_t)]
    color: Color,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Starts logging: at `level` for ourselves, warnings of the libraries, or all as `RUST_LOG` says.
pub(super) fn start(flags: Flags, level: &str) {
    let level = match flags {
        Flags { quiet: true, .. } => "error",
        Flags { verbose: true, .. } => "debug",
        Flags { .. } => level,
    };
    let chosen = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,rmcp=error,vaultwright={level}")));
    let lines = coloured(tracing_subscriber::fmt::layer().with_writer(stderr), flags.color);
    tracing_subscriber::registry().with(lines.with_filter(chosen.and(without_messages()))).init();
    log_panics();
}

type Lines<S> = tracing_subscriber::fmt::Layer<
    S,
    tracing_subscriber::fmt::format::DefaultFields,
    tracing_subscriber::fmt::format::Format,
    fn() -> std::io::Stderr,
>;

fn coloured<S>(lines: Lines<S>, color: Color) -> Lines<S> {
    match color {
        Color::Auto if stderr().is_terminal() => lines,
        Color::Always => lines.with_ansi(true),
        Color::Auto | Color::Never => lines.with_ansi(false),
    }
}

/// Below `info` rmcp logs whole messages: arguments and the text of notes, which no log may hold.
fn without_messages() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    filter_fn(|event| !event.target().starts_with("rmcp") || *event.level() <= Level::INFO)
}

/// Logs where a panic was. Its message is left out: it may quote the text that was sliced.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a fault of this program ended a task");
    }));
}
