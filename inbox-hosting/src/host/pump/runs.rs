//! Which deliveries of a lease are a run, and whether a run goes on after one of them.

use std::collections::HashMap;

use inbox_core::dispatch::Pipeline;
use inbox_core::message::Delivery;
use inbox_core::policy::AfterDead;
use inbox_core::request::LaneRun;
use inbox_core::settle::Settlement;
use inbox_core::store::Lease;

use super::decided::Decided;
use super::reach::Found;

/// The run that each delivery of the lease is one of, and what the lease holds of lanes. Quarantined
/// deliveries, and the only one of a lane, are in none.
pub(super) fn runs(lease: &Lease) -> (Vec<Option<LaneRun>>, Found) {
    let mut lanes: HashMap<_, (usize, Option<LaneRun>)> = HashMap::new();
    for lane in lease.deliveries.iter().filter_map(lane) {
        lanes.entry(lane).or_default().0 += 1;
    }
    let found = Found {
        deliveries: lease.deliveries.len() + lease.unreadable.len(),
        lanes: lanes.len(),
        of_lanes: lanes.values().map(|(deliveries, _)| deliveries).sum(),
    };
    let run = |delivery| {
        let (deliveries, run) = lanes.get_mut(&lane(delivery)?)?;
        let is_run = *deliveries > 1 && !lease.quarantined;
        is_run.then(|| run.get_or_insert_with(LaneRun::new).clone())
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
            Settlement::Dead { .. } => pipeline.descriptor().options.after_dead == AfterDead::Pass,
            Settlement::Retry { .. } | Settlement::Release => false,
        };
        match has_ended {
            false => Self::Stops,
            // The next transaction would be committed before anything else is written.
            true if pipeline.is_transactional() && decided.written.is_none() => Self::Waits,
            true => Self::GoesOn,
        }
    }
}
