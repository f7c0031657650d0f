//! The write path on the file systems that people keep vaults on, and on those that refuse.

mod file_systems;
mod metadata;
mod recipes;
mod refusals;
mod tier;
pub mod unprivileged;
