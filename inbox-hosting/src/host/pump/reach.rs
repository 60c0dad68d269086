use std::num::NonZeroU32;

use inbox_core::store::Runs;

/// No claim takes more deliveries, so that more lanes mean nothing.
const MOST: usize = super::buffer::CLAIM;

/// So many lanes are enough where each call is over at once.
const FEW: usize = 32;

/// Every so many blind claims, one takes fewer lanes.
const PROBE: usize = 8;

/// How far the claims of a handler reach into lanes.
///
/// A few more lanes than calls keep every call busy, and leave the lanes long runs and other hosts other
/// lanes. A quick handler needs fewer, as one call after the other is made of each: each lane that is won and handed on
/// has its cost. Where that brings little, because the lanes hold little, a claim takes more of them.
#[derive(Debug)]
pub(super) struct Reach {
    /// How many deliveries the calls handle at the same time.
    at_once: usize,
    lanes: usize,
    /// Claims of so many lanes that one delivery was taken of each.
    blind: usize,
}

/// What a claim of one key brought of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Deliveries, those without a lane included.
    pub(super) deliveries: usize,
    pub(super) lanes: usize,
    /// Deliveries of these lanes.
    pub(super) of_lanes: usize,
}

impl std::ops::AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.deliveries += other.deliveries;
        self.lanes += other.lanes;
        self.of_lanes += other.of_lanes;
    }
}

impl Reach {
    /// Of a handler whose calls handle so many deliveries at the same time.
    pub(super) fn new(at_once: usize) -> Self {
        let mut reach = Self { at_once, lanes: 0, blind: 0 };
        reach.lanes = reach.least(0);
        reach
    }

    /// How many lanes a claim takes at least, of a handler that makes so many calls in a millisecond: twice as many as
    /// calls have deliveries, so that another one is there where one ends.
    fn least(&self, quick: usize) -> usize {
        let all = self.at_once.saturating_mul(2).max(1);
        (all / quick.max(1)).max(FEW).min(all)
    }

    /// What a claim of so many deliveries asks for, whose runs may be so long.
    pub(super) fn runs(&self, limit: NonZeroU32, length: usize, quick: usize) -> Runs {
        let of = |count: usize| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN).min(limit)
        };
        Runs { lanes: of(self.lanes.max(self.least(quick))), length: of(length) }
    }

    /// A claim brought this. Answers whether there may be more.
    pub(super) fn found(
        &mut self,
        asked: Runs,
        limit: NonZeroU32,
        found: Found,
        quick: usize,
    ) -> bool {
        let least = self.least(quick);
        let has_all_lanes = found.lanes >= asked.lanes.get() as usize;
        if has_all_lanes {
            let lanes = u32::try_from(found.lanes).unwrap_or(u32::MAX);
            let offered = asked.length_of(lanes, limit.get()) as usize;
            // Half empty, they leave room for as many more. One delivery of each says nothing: then a claim
            // of fewer lanes finds out now and then.
            self.blind += usize::from(offered == 1);
            let is_shallow = match offered {
                1 => !self.blind.is_multiple_of(PROBE),
                _ => found.of_lanes.saturating_mul(2) <= offered.saturating_mul(found.lanes),
            };
            self.lanes = match is_shallow {
                true => self.lanes.saturating_mul(2).min(MOST.max(least)),
                false => (self.lanes.min(limit.get() as usize) / 2).max(least),
            };
        }
        has_all_lanes || found.deliveries >= limit.get() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    fn asked(lanes: u32, length: u32) -> Runs {
        Runs { lanes: count(lanes), length: count(length) }
    }

    #[test]
    fn a_claim_takes_a_few_more_lanes_than_there_are_calls_and_no_more_than_its_limit() {
        let reach = Reach::new(4);
        assert_eq!(reach.runs(count(500), 1_000, 0), asked(8, 500));
        assert_eq!(reach.runs(count(5), 3, 0), asked(5, 3));
        assert_eq!(Reach::new(0).runs(count(5), 0, 0), asked(1, 1));
    }

    #[test]
    fn where_lanes_hold_little_a_claim_takes_more_of_them_until_they_hold_much() {
        let (mut reach, limit) = (Reach::new(4), count(100));
        let mut claim = |of_each: usize| {
            let asked = reach.runs(limit, 100, 0);
            let lanes = asked.lanes.get() as usize;
            let of_lanes = lanes * of_each;
            assert!(reach.found(asked, limit, Found { deliveries: of_lanes, lanes, of_lanes }, 0));
            lanes
        };
        assert_eq!([1; 5].map(&mut claim), [8, 16, 32, 64, 100]);
        // Most of these are blind, and one of eight finds out that the lanes hold as little as before.
        assert_eq!([1; 8].map(&mut claim), [100, 100, 100, 100, 100, 100, 50, 100]);
        // And after another eight, that they hold more.
        assert_eq!([1; 7].map(&mut claim), [100; 7]);
        assert_eq!([2, 4, 8, 12].map(&mut claim), [50, 25, 12, 8]);
    }

    #[test]
    fn of_a_quick_handler_a_claim_takes_fewer_lanes_while_they_hold_much() {
        let (mut reach, limit) = (Reach::new(64), count(500));
        let mut claim = |quick: usize, of_each: usize| {
            let asked = reach.runs(limit, 1_000, quick);
            let lanes = asked.lanes.get() as usize;
            let of_lanes = lanes * of_each.min(500 / lanes);
            reach.found(asked, limit, Found { deliveries: of_lanes, lanes, of_lanes }, quick);
            lanes
        };
        assert_eq!([100; 5].map(|quick| claim(quick, 100)), [128, 64, 32, 32, 32]);
        assert_eq!(claim(1, 100), 128, "it is slow by now");
        assert_eq!([100; 3].map(|quick| claim(quick, 1)), [128, 256, 500], "they hold little");
    }

    #[test]
    fn there_may_be_more_where_a_claim_is_full_or_won_every_lane_it_might() {
        let (mut reach, limit) = (Reach::new(4), count(100));
        let mut is_more = |deliveries, lanes, of_lanes| {
            reach.found(asked(8, 100), limit, Found { deliveries, lanes, of_lanes }, 0)
        };
        assert!(is_more(100, 0, 0));
        assert!(is_more(8, 8, 8));
        assert!(!is_more(99, 7, 50));
    }
}
