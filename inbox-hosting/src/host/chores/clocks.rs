use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A moment by two clocks: the one that stands still while the machine sleeps, and the one that leases expire by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    running: Instant,
    wall: SystemTime,
}

impl Clocks {
    pub(super) fn now() -> Self {
        Self { running: Instant::now(), wall: SystemTime::now() }
    }

    /// The time from here to `later`, by the clock that says more: a process that was stopped sees it by both, a
    /// machine that slept, or whose clock was put forward, by one.
    pub(super) fn gap(self, later: Self) -> Duration {
        let running = later.running.saturating_duration_since(self.running);
        // Put back, it makes no lease expire.
        let wall = later.wall.duration_since(self.wall).unwrap_or_default();
        running.max(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn after(running: Duration, wall: Duration) -> (Clocks, Clocks) {
        let begun = Clocks::now();
        (begun, Clocks { running: begun.running + running, wall: begun.wall + wall })
    }

    #[test]
    fn a_gap_is_seen_by_either_clock() {
        for (running, wall, gap) in [
            (SECOND, SECOND, SECOND),
            // The process was stopped.
            (HOUR, HOUR, HOUR),
            // The machine slept, or its clock was put forward.
            (SECOND, HOUR, HOUR),
            // Nobody put the clock forward, and tests may run time by themselves.
            (HOUR, SECOND, HOUR),
        ] {
            let (begun, later) = after(running, wall);
            assert_eq!(begun.gap(later), gap);
        }
    }

    #[test]
    fn a_clock_that_was_put_back_is_no_gap() {
        let (begun, later) = after(SECOND, HOUR);
        let put_back = Clocks { running: later.running, ..begun };
        let before = Clocks { wall: later.wall, ..begun };
        assert_eq!(before.gap(put_back), SECOND);
    }
}
