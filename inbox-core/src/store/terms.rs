use std::num::NonZeroU32;

use crate::policy::OnDead;

/// How the deliveries of one handler stand to each other, in the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// What becomes of a lane when one of its deliveries is dead.
    pub on_dead: OnDead,
    /// At most this many run at once: the permits that all workers share. The deliveries of one run use one.
    pub fleet: Option<NonZeroU32>,
    /// At most this many of one concurrency key are held at once. A run uses one permit, and ends where the
    /// concurrency key changes.
    pub per_key: Option<NonZeroU32>,
    /// How far a claim reaches into lanes.
    pub runs: Runs,
}

/// How many lanes a claim takes, and how many deliveries of each: its *run*, which one worker executes one
/// delivery after the other.
///
/// Many lanes give width and few give depth: a claim that wins `n` lanes takes no more than
/// `limit / n` deliveries of each, and at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// At most this many lanes.
    pub lanes: NonZeroU32,
    /// At most this many deliveries of each lane.
    pub length: NonZeroU32,
}

impl Default for Runs {
    /// Any number of lanes, one delivery of each.
    fn default() -> Self {
        Self { lanes: NonZeroU32::MAX, length: NonZeroU32::MIN }
    }
}

impl Runs {
    /// The length of each run where a claim wins so many lanes and may take so many deliveries of them.
    #[must_use]
    pub fn length_of(self, lanes: u32, limit: u32) -> u32 {
        limit.checked_div(lanes).unwrap_or(0).clamp(1, self.length.get())
    }
}
