//! A flag that is set once and polled anywhere.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Says that the caller no longer wants the answer.
///
/// Polled before staging, while a stream is read, and once before publication; never within a publication, so that one
/// that has begun ends.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Sets the flag, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_sees_the_flag() {
        let flag = CancelFlag::default();
        let clone = flag.clone();
        assert!(!clone.is_cancelled());
        flag.cancel();
        assert!(clone.is_cancelled());
    }
}
