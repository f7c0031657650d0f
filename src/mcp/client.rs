//! The client of one request, as the protocol knows it.

use std::sync::OnceLock;

use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};
use tokio_util::sync::CancellationToken;

use crate::{cancel::CancelFlag, serving::SessionKey, tools::Caller};

/// The request speaks the revision without sessions, in which every request stands alone.
pub(super) fn is_modern(request: &RequestContext<RoleServer>) -> bool {
    request.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The client of one tool call.
pub(super) struct Client {
    cancelled: CancellationToken,
    flag: OnceLock<CancelFlag>,
}

impl Client {
    pub(super) const fn new(cancelled: CancellationToken) -> Self {
        Self { cancelled, flag: OnceLock::new() }
    }
}

impl Caller for Client {
    /// The token also fires when the answer has been sent, so the task that waits for it always ends.
    fn cancel_flag(&self) -> CancelFlag {
        let start = || {
            let flag = CancelFlag::default();
            let (cancelled, set) = (self.cancelled.clone(), flag.clone());
            tokio::spawn(async move {
                cancelled.cancelled().await;
                set.cancel();
            });
            flag
        };
        self.flag.get_or_init(start).clone()
    }

    /// One process serves one client over its pipes.
    fn session(&self) -> Option<SessionKey> {
        Some(SessionKey::Process)
    }

    /// No resources are offered yet, so there is no list of theirs to call changed.
    fn selection_changed(&self) {}
}
