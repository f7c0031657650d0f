//! Bytes: `*_file`.

mod read_file;
mod write_file;

use crate::{
    cancel::CancelFlag,
    error::Error,
    tools::{Cx, Entry, entry},
    vault::Vault,
};

/// The family, in listing order.
pub const TOOLS: &[Entry] = &[entry::<read_file::ReadFile>(), entry::<write_file::WriteFile>()];

/// Runs an operation on the vault a call acts on: its argument, else its session's selection, else the default.
async fn on_vault<T: Send + 'static>(
    cx: &Cx,
    vault_path: Option<String>,
    operation: impl FnOnce(&Vault, &CancelFlag) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (state, cancel) = (cx.state.clone(), cx.caller.cancel_flag());
    let selected = cx.caller.session().and_then(|session| cx.state.sessions.get(&session));
    cx.state
        .work
        .files(move || {
            let selected = selected.as_ref().map(|selection| selection.path.as_str());
            operation(&state.vaults.choose(vault_path.as_deref(), selected)?, &cancel)
        })
        .await
}
