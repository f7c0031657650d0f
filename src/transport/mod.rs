//! transport.
