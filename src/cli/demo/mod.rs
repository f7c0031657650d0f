//! `demo`: a fixed session on the built-in vault, for people who want to see what this does.

mod bundle;
mod player;
mod print;
mod script;

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;

use self::player::{Player, Step};
use super::{
    Status, out,
    peer::{Peer, PeerError},
};
use crate::{
    config::{Args, Config, ConfigError, Environment, VaultArgs},
    error::Exit,
    fs::scratch::Scratch,
    mcp::Server,
    serving::State,
    transport::limits,
};

/// Whether the vault stays.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Demo {
    /// Keep the temporary folder, and print where it is
    #[arg(long)]
    keep: bool,
}

/// Why the session could not be played.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    #[error("the temporary folder: {0}")]
    Scratch(#[from] io::Error),
    #[error("the temporary folder has no absolute path that is text")]
    Place,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl DemoError {
    const fn exit(&self) -> Exit {
        match self {
            Self::Scratch(_) | Self::Place => Exit::Io,
            Self::Config(_) | Self::Peer(_) => Exit::Internal,
        }
    }
}

impl Demo {
    pub(super) async fn run(self, json: bool) -> Status {
        let start = Instant::now();
        match self.play().await {
            Ok((steps, place)) => show(&steps, &place, self.keep, json, start.elapsed()),
            Err(error) => out::broken(&error, error.exit(), json),
        }
    }

    /// Plays the session in a folder of its own; answers what came of each step, and where that was.
    async fn play(self) -> Result<(Vec<Step>, Box<Path>), DemoError> {
        let scratch = Scratch::make("vaultwright-demo-")?;
        let place = scratch.path().into();
        bundle::unpack(&scratch)?;
        let steps = session(&scratch).await?;
        if self.keep {
            scratch.keep();
        } else {
            scratch.remove()?;
        }
        Ok((steps, place))
    }
}

async fn session(scratch: &Scratch) -> Result<Vec<Step>, DemoError> {
    let config = config(scratch)?;
    let longest = limits::max_message(config.files.max_write_bytes);
    let peer = Peer::open(Server::new(Arc::new(State::new(config))), longest).await?;
    let mut player = Player::new(peer, scratch);
    let outcome = script::play(&mut player).await;
    let steps = player.leave().await;
    outcome.map(|()| steps)
}

/// Settings of an empty environment, with the unpacked vault as the only one.
fn config(scratch: &Scratch) -> Result<Config, DemoError> {
    let below = |name| scratch.below(name).ok_or(DemoError::Place);
    let vault = below(bundle::VAULT)?.as_path().to_str().map(str::to_owned).ok_or(DemoError::Place)?;
    let vaults =
        VaultArgs { vault: Some(vault), vault_discovery: Some("off".to_owned()), ..VaultArgs::default() };
    let mut config = Config::load(&Args { vaults, ..Args::default() }, &Environment::default())?;
    config.files.state_dir = below("state")?;
    Ok(config)
}

/// Prints the session: as JSON the steps alone, else the summary last.
fn show(steps: &[Step], place: &Path, keep: bool, json: bool, took: Duration) -> Status {
    let kept = if keep { format!("kept: {}\n", place.display()) } else { String::new() };
    let shown = if json {
        if keep {
            out::tell(&kept.trim_end());
        }
        json!(steps).to_string()
    } else {
        format!("{}{kept}{}", print::session(steps, place), print::summary(steps, took))
    };
    let exit = if steps.iter().all(|step| step.ok) { Exit::Ok } else { Exit::Internal };
    out::data(&shown).err().unwrap_or(Status::Ended(exit))
}
