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
    fs::host::{HostPath, NewFile},
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

/// Where the bytes go.
enum Sink {
    Output(io::Stdout),
    File(NewFile),
}

impl Sink {
    fn open(output: Option<&str>, force: bool) -> io::Result<Self> {
        let Some(file) = output else { return Ok(Self::Output(io::stdout())) };
        let path = HostPath::parse(absolute(file)?).ok_or(ErrorKind::InvalidInput)?;
        NewFile::begin(&path, force).map(Self::File)
    }

    fn keep(self) -> io::Result<()> {
        match self {
            Self::Output(mut output) => output.flush(),
            Self::File(file) => file.keep(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Output(output) => output.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Output(output) => output.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

fn ended(error: &io::Error, output: Option<&str>) -> Status {
    let file = output.unwrap_or("standard output");
    match error.kind() {
        ErrorKind::BrokenPipe => Status::OutputClosed,
        ErrorKind::AlreadyExists => {
            out::failed(&format_args!("{file} exists and is as it was; --force writes over it"), Exit::Exists)
        }
        _ if output.is_some() => out::failed(&format_args!("{file} was not written: {error}"), Exit::Io),
        _ => out::failed(&format_args!("{file}: {error}"), Exit::Internal),
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
        let file = output.clone();
        let copied = chosen.on_vault(state, move |vault, _| {
            let open = || Sink::open(file.as_deref(), force);
            let copied = hash_file::copy(vault, &path, range.unwrap_or(0..u64::MAX), open)?;
            Ok(copied.and_then(Sink::keep))
        });
        match copied.await {
            Ok(Ok(())) => Status::Ended(Exit::Ok),
            Ok(Err(error)) => ended(&error, output.as_deref()),
            Err(error) => chosen.failed(&error),
        }
    }

    /// A terminal is shown text alone, unless it is forced.
    async fn show_text(self, state: &Arc<State>, chosen: &Chosen) -> Status {
        let range = self.range.unwrap_or(0..u64::MAX);
        let read = chosen
            .on_vault(state, move |vault, _| hash_file::copy(vault, &self.path, range, || Ok(Vec::new())));
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
        match chosen.on_vault(state, move |vault, _| ask.run(vault)).await {
            Ok(answer) => out::json(&ReadReport::of(answer)).err().unwrap_or(Status::Ended(Exit::Ok)),
            Err(error) => chosen.failed(&error),
        }
    }
}
