use std::num::NonZeroU32;

use crate::policy::AfterDead;

/// How the deliveries of one handler stand to each other, in the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// What becomes of a lane whose head is dead.
    pub after_dead: AfterDead,
    /// At most this many are held at once.
    pub fleet: Option<NonZeroU32>,
    /// At most this many of one concurrency key are held at once.
    pub per_key: Option<NonZeroU32>,
}
