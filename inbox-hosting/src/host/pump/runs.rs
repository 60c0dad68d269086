//! Which deliveries of a lease are a run, and whether a run goes on after one of them.

use std::collections::HashMap;

use inbox_core::dispatch::Pipeline;
use inbox_core::message::Delivery;
use inbox_core::policy::OnDead;
use inbox_core::request::LaneRun;
use inbox_core::settle::Settlement;
use inbox_core::store::Lease;

use super::decided::Decided;
use super::reach::Found;

/// What a lease holds of one lane.
#[derive(Default)]
struct OfLane {
    deliveries: usize,
    /// Whether a worker has vanished with one of them.
    has_crashed: bool,
    run: Option<LaneRun>,
}

impl OfLane {
    /// Where a worker has vanished with one, the next crash should accuse the right one.
    fn run(&mut self) -> LaneRun {
        let run = if self.has_crashed { LaneRun::careful } else { LaneRun::new };
        self.run.get_or_insert_with(run).clone()
    }
}

/// The run that each delivery of the lease is one of, and what the lease holds of lanes. Quarantined
/// deliveries, and the only one of a lane, are in none.
pub(super) fn runs(lease: &Lease) -> (Vec<Option<LaneRun>>, Found) {
    let mut lanes: HashMap<_, OfLane> = HashMap::new();
    for delivery in &lease.deliveries {
        if let Some(lane) = lane(delivery) {
            let of_lane = lanes.entry(lane).or_default();
            of_lane.deliveries += 1;
            of_lane.has_crashed |= delivery.crashes > 0;
        }
    }
    let found = Found {
        deliveries: lease.deliveries.len() + lease.unreadable.len(),
        lanes: lanes.len(),
        of_lanes: lanes.values().map(|lane| lane.deliveries).sum(),
    };
    // Where there are fewer permits than deliveries, these share them.
    let others = lease.deliveries.len() - found.of_lanes;
    let permits = lease.permits.filter(|permits| (permits.get() as usize) < others);
    let permits = permits.map(LaneRun::permits);
    let run = |delivery| {
        let Some(lane) = lane(delivery) else { return permits.clone() };
        let lane = lanes.get_mut(&lane)?;
        let is_run = lane.deliveries > 1 && !lease.quarantined;
        is_run.then(|| lane.run())
    };
    (lease.deliveries.iter().map(run).collect(), found)
}

fn lane(delivery: &Delivery) -> Option<(&str, &str)> {
    let message = &delivery.message;
    Some((&message.tenant, message.ordering_key.as_deref()?))
}

/// What becomes of a run after one of its deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The next one may begin.
    GoesOn,
    /// The next one may begin once the end of this one is written.
    Waits,
    /// The next one must not begin: this one comes first again.
    Stops,
}

impl After {
    /// After a delivery of this handler.
    pub(super) fn of(decided: &Decided, pipeline: &Pipeline) -> Self {
        let has_ended = match decided.settle.settlement {
            Settlement::Done(_) => true,
            Settlement::Dead { .. } => pipeline.descriptor().options.on_dead == OnDead::Skip,
            Settlement::Retry { .. } | Settlement::Release => false,
        };
        match has_ended || decided.lane().is_none() {
            false => Self::Stops,
            true if decided.written.is_none() && is_waited_for(decided, pipeline) => Self::Waits,
            true => Self::GoesOn,
        }
    }
}

/// Whether the end of a delivery must be written before the next one begins.
fn is_waited_for(decided: &Decided, pipeline: &Pipeline) -> bool {
    // The next transaction would be committed before anything else is written.
    decided.lane().is_some_and(|run| pipeline.is_transactional() || run.is_careful())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use inbox_core::store::LeaseToken;

    use super::super::kit::{delivery, lease};
    use super::*;

    /// The run of each delivery, by the place of the first of it.
    fn grouped(permits: u32, keys: &[Option<&str>]) -> Vec<Option<usize>> {
        let deliveries = (0..).zip(keys).map(|(number, key)| delivery(number, "work", *key));
        let lease = Lease {
            permits: NonZeroU32::new(permits),
            deliveries: deliveries.collect(),
            ..lease(LeaseToken::new(), "work", false)
        };
        let ids: Vec<_> = runs(&lease).0.iter().map(|run| run.as_ref().map(LaneRun::id)).collect();
        let first = |id: &Option<u64>| id.and_then(|_| ids.iter().position(|one| one == id));
        ids.iter().map(first).collect()
    }

    #[test]
    fn deliveries_without_an_ordering_key_share_the_permits_of_their_lease() {
        assert_eq!(grouped(2, &[None; 5]), [Some(0); 5]);
        assert_eq!(grouped(2, &[None, None]), [None, None], "each has one of its own");
        assert_eq!(grouped(0, &[None; 3]), [None; 3]);
        let beside_a_lane = grouped(1, &[Some("a"), None, Some("a"), None, Some("b")]);
        assert_eq!(beside_a_lane, [Some(0), Some(1), Some(0), Some(1), None]);
    }
}
