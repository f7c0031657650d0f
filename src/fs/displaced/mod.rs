//! Bytes out: what was displaced and is not ours to destroy.

pub(crate) mod park;
pub(crate) mod sweep;
