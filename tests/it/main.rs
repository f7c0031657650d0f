//! Behaviour through the public surface.

mod readme;
