use std::time::Duration;

/// Growing pauses between tries, with chance in them: a fleet must not come back in step.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Pause {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// How long to wait now: between a half and all of a time that doubles.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// All is well again.
    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_longest_and_begins_anew() {
        let mut pause = Pause::new(Duration::from_millis(10), Duration::from_millis(35));
        for full in [10, 20, 35, 35] {
            let full = Duration::from_millis(full);
            let next = pause.next();
            assert!(next >= full / 2 && next <= full, "{next:?} of {full:?}");
        }
        pause.reset();
        assert!(pause.next() <= Duration::from_millis(10));
    }
}
