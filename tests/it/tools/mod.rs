//! The tools as a client meets them.

mod read_file;
mod vaults;
mod write_file;

use std::{
    collections::BTreeMap,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use vaultwright::{
    config::{Args, Config},
    fs::HostPath,
    serving::State,
    text::ContentHash,
};

use crate::{
    client::{Client, Era, Reply},
    vault::{self, Vault},
};

/// The hash of `hello\n`.
pub(crate) const H: &str = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
/// A hash that nothing has.
pub(crate) const Z: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// A vault, a server on it and a client of that.
pub(crate) struct Desk {
    pub(crate) vault: Vault,
    pub(crate) client: Client,
}

impl Desk {
    /// With every setting at its default.
    pub(crate) async fn of(text: &str) -> Self {
        Self::with(text, |_| {}).await
    }

    /// With settings.
    pub(crate) async fn with(text: &str, set: impl FnOnce(&mut Args)) -> Self {
        Self::on(vault::vault(text), set).await
    }

    /// On a vault that was made before.
    pub(crate) async fn on(vault: Vault, set: impl FnOnce(&mut Args)) -> Self {
        let client = Client::open(state(&vault, set), Era::Modern).await;
        Self { vault, client }
    }

    /// The structured form of a success.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.client.call(tool, arguments).await.data().clone()
    }

    /// The facts of a failure that left everything in the vault as it was, times and inodes included.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value, reason: &str) -> Value {
        let before = snapshot(&self.vault.path());
        let named = arguments.to_string();
        let reply = self.client.call(tool, arguments).await;
        let facts = reply.refused(reason).clone();
        assert_eq!(snapshot(&self.vault.path()), before, "{reason}: something was written");
        self.check_failure(&reply, &named);
        facts
    }

    /// What holds for every failure: it says that nothing was written, and tells no folder of the host that the
    /// caller did not name.
    fn check_failure(&self, reply: &Reply, named: &str) {
        let message = reply.error().unwrap()["message"].as_str().unwrap();
        assert!(message.ends_with("Nothing was written."), "{message}");
        let root = self.vault.path().parent().unwrap().to_str().unwrap().to_owned();
        assert!(named.contains(&root) || !reply.text().contains(&root), "{}", reply.text());
    }

    /// The bytes of a file of the vault.
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.vault.path().join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.vault.path().join(path).symlink_metadata().is_ok()
    }
}

/// A server's state with a vault as its default. Nothing of the user's reaches it.
pub(crate) fn state(vault: &Vault, set: impl FnOnce(&mut Args)) -> Arc<State> {
    let mut config = config(vault.path().parent().unwrap(), set);
    config.vaults.default.get_or_insert(HostPath::parse(vault.path()).unwrap());
    Arc::new(State::new(config))
}

/// Settings that know nothing but what is given; what the server keeps goes into a scratch folder.
pub(crate) fn config(scratch: &Path, set: impl FnOnce(&mut Args)) -> Config {
    let mut args = Args::default();
    set(&mut args);
    let mut config = Config::try_from(args).unwrap();
    config.vaults.discovery = config.vaults.registry_file.is_some();
    config.vaults.home = None;
    config.files.state_dir = HostPath::parse(scratch).unwrap().join("state");
    config
}

/// What stands at a path: kind, inode, size, times, bytes. Folders have their kind alone.
type Stand = (&'static str, u64, u64, [i64; 4], Vec<u8>);

/// Everything below a folder, links not followed and fifos not opened.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<PathBuf, Stand> {
    let entries = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    entries.map(|entry| (entry.path().to_owned(), stand(entry.path()))).collect()
}

pub(crate) fn stand(path: &Path) -> Stand {
    let facts = path.symlink_metadata().unwrap();
    let kind = facts.file_type();
    if kind.is_dir() {
        return ("folder", 0, 0, [0; 4], Vec::new());
    }
    let times = [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()];
    let (kind, bytes) = if kind.is_file() {
        ("file", std::fs::read(path).unwrap_or_default())
    } else if kind.is_fifo() {
        ("fifo", Vec::new())
    } else {
        ("other", Vec::new())
    };
    (kind, facts.ino(), facts.size(), times, bytes)
}

/// Standard base64.
pub(crate) fn b64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// The hash of bytes, as the tools spell it.
pub(crate) fn hash(bytes: impl AsRef<[u8]>) -> String {
    ContentHash::of(bytes.as_ref()).to_string()
}

/// Puts a symbolic link into a vault.
pub(crate) fn link(vault: &Vault, path: &str, target: impl AsRef<Path>) {
    std::os::unix::fs::symlink(target, vault.path().join(path)).unwrap();
}

/// Puts a fifo into a vault.
pub(crate) fn fifo(vault: &Vault, path: &str) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, vault.path().join(path), kind, mode, 0).unwrap();
}

/// All at once, in their order.
pub(crate) async fn futures_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|future| Some(Box::pin(future))).collect();
    let mut done: Vec<_> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (slot, result) in pending.iter_mut().zip(&mut done) {
            if let Some(future) = slot
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                *result = Some(output);
                *slot = None;
            }
        }
        if pending.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
