use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::store::{LeaseRequest, Wanted};

use crate::lease::outcome::{ClaimOutcome, Lows};

/// A sweep that is faster is made whenever there is time for it.
const CHEAP: Duration = Duration::from_millis(5);

/// However much there is to do, one is made about this often.
const OFTEN: Duration = Duration::from_millis(200);

/// A slower one takes at most this share of the time.
const SHARE: u32 = 30;

/// For so long a handler that had ordering keys is asked for them.
const LANES_LAST: Duration = Duration::from_mins(1);

/// Where claims of a handler start, one mark for each level and version: a backlog of one hides no other.
///
/// While someone holds a transaction open, the index keeps an entry for every row that was ever
/// claimed. A claim from the beginning would walk over all of them; one from where the last claim
/// found work walks over none. What appears behind a mark, because its transaction committed late or
/// its claim was rolled back, is found by a sweep from the beginning.
#[derive(Debug, Default)]
pub(crate) struct Watermarks(Mutex<HashMap<Claims, Watermark>>);

/// Claims that look for the same, and so share a mark.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Claims {
    handler_key: String,
    versions: Vec<u32>,
    tenants: Option<Vec<String>>,
}

impl Claims {
    pub(crate) fn of(request: &LeaseRequest, wanted: &Wanted) -> Self {
        Self {
            handler_key: wanted.handler_key.clone(),
            versions: wanted.versions.clone(),
            tenants: request.tenants.clone(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Watermark {
    /// Claims find what is above; all there is, where there is none.
    pub(crate) lows: Lows,
    /// The same, for what has an ordering key.
    pub(crate) lane_lows: Lows,
    /// When something with an ordering key was last seen.
    lanes: LanesSeen,
    /// Whether the last call found less than it wanted.
    is_short: bool,
    swept: Option<Sweep>,
}

/// Whether a claim looks for ordering keys, which takes more than one statement.
#[derive(Debug, Clone, Copy, Default)]
enum LanesSeen {
    /// Nobody has looked.
    #[default]
    Unknown,
    Never,
    At(Instant),
}

#[derive(Debug, Clone, Copy)]
struct Sweep {
    ended: Instant,
    took: Duration,
}

/// Where a claim starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Before the first row: a sweep.
    Beginning,
    /// Where the last claim found work.
    Mark,
}

impl Watermark {
    /// Whether the handler has deliveries with ordering keys, or had some not long ago.
    pub(crate) fn has_lanes(&self) -> bool {
        match self.lanes {
            LanesSeen::Unknown => true,
            LanesSeen::Never => false,
            LanesSeen::At(moment) => moment.elapsed() < LANES_LAST,
        }
    }

    /// Where the claims of one call start, one after the other.
    pub(crate) fn starts(&self) -> Vec<Start> {
        if self.lows.is_empty() && self.lane_lows.is_empty() {
            return vec![Start::Beginning];
        }
        let is_affordable = self
            .swept
            .is_none_or(|last| last.took < CHEAP || last.ended.elapsed() > last.took * SHARE);
        let is_due = self.swept.is_none_or(|last| last.ended.elapsed() > OFTEN);
        match (is_affordable, is_due) {
            // All there is, at once: it will not be much.
            (true, _) if self.is_short => vec![Start::Beginning],
            // First: a deep backlog would leave it no room, for as long as there is one.
            (true, true) => vec![Start::Beginning, Start::Mark],
            (true, false) => vec![Start::Mark, Start::Beginning],
            (false, _) => vec![Start::Mark],
        }
    }
}

/// A sweep that is under way. Its time is noted when it ends, whatever its end is.
pub(crate) struct Sweeping<'a> {
    marks: &'a Watermarks,
    claims: &'a Claims,
    began: Instant,
}

impl Drop for Sweeping<'_> {
    fn drop(&mut self) {
        let sweep = Sweep { ended: Instant::now(), took: self.began.elapsed() };
        self.marks.lock().entry(self.claims.clone()).or_default().swept = Some(sweep);
    }
}

impl Watermarks {
    pub(crate) fn of(&self, claims: &Claims) -> Watermark {
        self.lock().get(claims).cloned().unwrap_or_default()
    }

    /// A claim found rows. The next one starts behind them, but not behind one that was left.
    pub(crate) fn found(&self, claims: &Claims, outcome: &ClaimOutcome) {
        let mut marks = self.lock();
        let mark = marks.entry(claims.clone()).or_default();
        outcome.free.advance(&mut mark.lows);
        outcome.lanes.advance(&mut mark.lane_lows);
        mark.lanes = match (outcome.has_lanes, mark.lanes) {
            (true, _) => LanesSeen::At(Instant::now()),
            (false, LanesSeen::Unknown) => LanesSeen::Never,
            (false, seen) => seen,
        };
    }

    /// A call has ended, and found all that it wanted or less.
    pub(crate) fn ended(&self, claims: &Claims, is_short: bool) {
        self.lock().entry(claims.clone()).or_default().is_short = is_short;
    }

    /// A sweep from the beginning begins.
    pub(crate) fn sweeping<'a>(&'a self, claims: &'a Claims) -> Sweeping<'a> {
        Sweeping { marks: self, claims, began: Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Claims, Watermark>> {
        // Nothing is half-done when a holder panics: every change is one insert.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::lease::outcome::Scan;

    const NORMAL: Scan = (1, 1);

    fn mark(took: Duration, ago: Duration) -> Watermark {
        // What ends later has ended just now, however long the test takes to ask.
        let ended = match ago.is_zero() {
            true => Instant::now() + Duration::from_hours(1),
            false => Instant::now().checked_sub(ago).unwrap(),
        };
        let (lows, swept) = (BTreeMap::from([(NORMAL, 7)]), Some(Sweep { ended, took }));
        Watermark { lows, swept, ..Watermark::default() }
    }

    #[test]
    fn a_sweep_that_is_due_comes_first_and_one_that_is_too_slow_not_at_all() {
        let (cheap, slow) = (Duration::from_millis(1), Duration::from_secs(1));
        let (just_now, long_ago) = (Duration::ZERO, Duration::from_mins(1));
        assert_eq!(mark(cheap, long_ago).starts(), [Start::Beginning, Start::Mark]);
        assert_eq!(mark(cheap, just_now).starts(), [Start::Mark, Start::Beginning]);
        assert_eq!(mark(slow, just_now).starts(), [Start::Mark]);
        assert_eq!(mark(slow, long_ago).starts(), [Start::Beginning, Start::Mark]);
        assert_eq!(Watermark::default().starts(), [Start::Beginning]);
    }

    #[test]
    fn where_little_was_found_one_look_from_the_beginning_does() {
        let short = |took| Watermark { is_short: true, ..mark(took, Duration::ZERO) };
        assert_eq!(short(Duration::from_millis(1)).starts(), [Start::Beginning]);
        assert_eq!(short(Duration::from_secs(1)).starts(), [Start::Mark], "unless that takes long");
    }

    fn claims(tenants: Option<&str>) -> Claims {
        Claims {
            handler_key: "charge".to_owned(),
            versions: vec![1],
            tenants: tenants.map(|tenant| vec![tenant.to_owned()]),
        }
    }

    #[test]
    fn what_was_found_for_some_tenants_says_nothing_of_the_others() {
        let (marks, mut outcome) = (Watermarks::default(), ClaimOutcome::default());
        outcome.free.note_gone(NORMAL, 7);
        marks.found(&claims(Some("acme")), &outcome);
        assert_eq!(marks.of(&claims(Some("acme"))).lows[&NORMAL], 7);
        for others in [Some("bolt"), None] {
            assert!(marks.of(&claims(others)).lows.is_empty());
        }
    }

    #[test]
    fn a_row_that_was_left_is_not_passed_by_and_a_version_hides_no_other() {
        let (marks, mut outcome) = (Watermarks::default(), ClaimOutcome::default());
        outcome.free.note_gone(NORMAL, 9);
        outcome.free.note_kept(NORMAL, 5);
        outcome.free.note_gone((1, 2), 30);
        outcome.lanes.note_gone(NORMAL, 50);
        marks.found(&claims(None), &outcome);
        let mark = marks.of(&claims(None));
        assert_eq!(mark.lows, BTreeMap::from([(NORMAL, 4), ((1, 2), 30)]));
        assert_eq!(mark.lane_lows, BTreeMap::from([(NORMAL, 50)]), "lanes have marks of their own");
    }
}
