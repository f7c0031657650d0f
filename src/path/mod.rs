//! Names in a vault and who may touch them, computed from strings alone.

pub mod policy;
pub mod suggest;
pub mod vault_path;

pub use policy::PathPolicy;
pub use vault_path::VaultPath;
