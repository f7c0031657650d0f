//! What a running server holds.

pub mod session;
pub mod state;
pub mod work;

pub use session::{Scope, Selection, SessionKey, Sessions};
pub use state::State;
pub use work::Work;
