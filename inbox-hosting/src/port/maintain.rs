use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{
    DeadDelivery, KnownRoute, Maintain, OrphanTerms, Reclaimed, Route, Served, StoreFuture,
};

use super::{Port, StoreVerb};

impl<S: Maintain> Maintain for Port<S> {
    delegate! {
        register_routes(routes: Vec<Route>, now: Now) -> Vec<KnownRoute>
            => RegisterRoutes, |_| None;
        route(limit: u32, now: Now) -> u64 => Route, |moved| Some(*moved);
        promote(limit: u32, now: Now) -> u64 => Promote, |moved| Some(*moved);
        next_due(now: Now) -> Option<Duration> => NextDue, |_| None;
        reclaim(limit: u32, now: Now) -> Reclaimed => Reclaim, |all| Some(all.moved());
        announce(host: &str, serves: Vec<Served>, now: Now) -> () => Heartbeat, |()| None;
        leave(host: &str) -> () => Deregister, |()| None;
        give_up_orphans(terms: OrphanTerms, limit: u32, now: Now) -> Vec<DeadDelivery>
            => DeadLetterOrphans, |dead| Some(dead.len() as u64);
        // It repairs lanes and limits, which are no deliveries.
        mend(limit: u32, now: Now) -> u64 => Repair, |_| None;
        check() -> () => Check, |()| None;
    }
}
