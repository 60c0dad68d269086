use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A run: deliveries of one lease that must not all be executed at once. Those of a lane are executed and settled one
/// after the other. Clones are one run.
#[derive(Debug, Clone)]
pub struct LaneRun(Arc<State>);

#[derive(Debug)]
struct State {
    id: u64,
    kind: Kind,
    is_lost: AtomicBool,
}

/// What ties the deliveries of a run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lane,
    CarefulLane,
    Permits(NonZeroU32),
}

impl LaneRun {
    /// A run of a lane, of its own.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "every call differs, so there is no default")]
    pub fn new() -> Self {
        Self::of(Kind::Lane)
    }

    /// A run of a lane, of which each delivery begins after the end of the one before is written: should its
    /// worker vanish, the first that is held is the one that had begun.
    #[must_use]
    pub fn careful() -> Self {
        Self::of(Kind::CarefulLane)
    }

    /// Deliveries that share so many permits of their handler's limit: no more of them run at a time, and nothing else
    /// ties them together.
    #[must_use]
    pub fn permits(permits: NonZeroU32) -> Self {
        Self::of(Kind::Permits(permits))
    }

    fn of(kind: Kind) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(State { id, kind, is_lost: AtomicBool::new(false) }))
    }

    /// Whether it is a [careful](Self::careful) one.
    #[must_use]
    pub fn is_careful(&self) -> bool {
        self.0.kind == Kind::CarefulLane
    }

    /// Whether its deliveries share a lane, and not [permits](Self::permits).
    #[must_use]
    pub fn is_lane(&self) -> bool {
        !matches!(self.0.kind, Kind::Permits(_))
    }

    /// How many of its deliveries may run at a time.
    #[must_use]
    pub fn width(&self) -> usize {
        match self.0.kind {
            Kind::Lane | Kind::CarefulLane => 1,
            Kind::Permits(permits) => permits.get() as usize,
        }
    }

    /// Which run it is, in this process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The settlement of one delivery was not written, or may not have been: what comes after that delivery
    /// is not begun any more, and its settlements are not written.
    pub fn lose(&self) {
        self.0.is_lost.store(true, Ordering::Relaxed);
    }

    /// Whether it was [lost](Self::lose).
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Relaxed)
    }
}
