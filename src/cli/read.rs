//! `read`: a file's bytes, as they are, to standard output or into a file.

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    ops::Range,
    path::absolute,
    sync::Arc,
};

use super::{Status, chosen::Chosen, out};
use crate::{
    error::Exit,
    fs::host::{self, HostPath},
    ops::{
        hash_file,
        read_file::{Ask, Encoding},
        read_report::ReadReport,
    },
    serving::State,
};

/// One read.
#[derive(Debug, clap::Args)]
pub(super) struct Read {
    /// File, relative to the vault
    path: String,
    /// Only these bytes: where they start, and how many
    #[arg(long, value_name = "START:LEN", value_parser = range)]
    range: Option<Range<u64>>,
    /// Write to this file of the host instead; never over an existing one without --force
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write over an existing file, or bytes that are no text to a terminal
    #[arg(long)]
    force: bool,
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once(':').and_then(|(start, len)| {
        let (start, len): (u64, u64) = (start.parse().ok()?, len.parse().ok()?);
        Some(start..start.checked_add(len)?)
    });
    parsed.ok_or_else(|| "two numbers with a colon between them".to_owned())
}

/// Standard output, or a file of the host.
fn open(output: Option<&str>, force: bool) -> io::Result<Box<dyn Write + Send>> {
    let Some(file) = output else { return Ok(Box::new(io::stdout())) };
    let path = HostPath::parse(absolute(file)?).ok_or(ErrorKind::InvalidInput)?;
    Ok(Box::new(host::create(&path, force)?))
}

fn ended(error: &io::Error) -> Status {
    match error.kind() {
        ErrorKind::BrokenPipe => Status::OutputClosed,
        ErrorKind::AlreadyExists => {
            out::failed(&format_args!("{error}; --force writes over it"), Exit::Exists)
        }
        _ => out::failed(error, Exit::Io),
    }
}

impl Read {
    pub(super) async fn run(self, state: &Arc<State>, chosen: Chosen) -> Status {
        if chosen.json && self.output.is_none() {
            return self.structured(state, &chosen).await;
        }
        if self.output.is_none() && io::stdout().is_terminal() && !self.force {
            return self.show_text(state, &chosen).await;
        }
        self.copy(state, &chosen).await
    }

    async fn copy(self, state: &Arc<State>, chosen: &Chosen) -> Status {
        let Self { path, range, output, force } = self;
        let copied = chosen.on_vault(state, move |vault| {
            hash_file::copy(vault, &path, range.unwrap_or(0..u64::MAX), || open(output.as_deref(), force))
        });
        match copied.await {
            Ok(Ok(_)) => Status::Ended(Exit::Ok),
            Ok(Err(error)) => ended(&error),
            Err(error) => chosen.failed(&error),
        }
    }

    /// A terminal is shown text alone, unless it is forced.
    async fn show_text(self, state: &Arc<State>, chosen: &Chosen) -> Status {
        let range = self.range.unwrap_or(0..u64::MAX);
        let read =
            chosen.on_vault(state, move |vault| hash_file::copy(vault, &self.path, range, || Ok(Vec::new())));
        match read.await.map(|bytes| bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok())) {
            Ok(Some(text)) => out::data(&text).err().unwrap_or(Status::Ended(Exit::Ok)),
            Ok(None) => out::failed(&"these bytes are no text; use -o FILE, or --force", Exit::Usage),
            Err(error) => chosen.failed(&error),
        }
    }

    async fn structured(self, state: &Arc<State>, chosen: &Chosen) -> Status {
        let window = self.range.clone().unwrap_or(0..0);
        let encoding = if self.range.is_some() { Encoding::Base64 } else { Encoding::Auto };
        let limit = self.range.map(|range| range.end - range.start);
        let ask = Ask { path: self.path, encoding, offset: window.start, limit, hash_only: false };
        match chosen.on_vault(state, move |vault| ask.run(vault)).await {
            Ok(answer) => out::json(&ReadReport::of(answer)).err().unwrap_or(Status::Ended(Exit::Ok)),
            Err(error) => chosen.failed(&error),
        }
    }
}
