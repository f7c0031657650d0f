//! Numbers that look random and come again from the same seed.

use crate::need;

/// Splitmix64.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// From a variable of the environment, any text, or else the same each time; says which.
    pub fn from_variable(variable: &str) -> Self {
        let text = std::env::var(variable).unwrap_or_else(|_| "vaultwright".into());
        need::say(&format!("{variable}={text}"));
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to below `high`.
    pub const fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    pub const fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}
