use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::MessageId;
use inbox_core::schedule::Start;
use inbox_core::store::{
    Cancelled, DeliveryCount, DeliveryFilter, HostRecord, Inspect, KnownRoute, Lane, LaneFilter,
    LaneRecord, MessageRecord, Page, RouteRecord, StoreFuture,
};

use super::{Port, StoreVerb};

impl<S: Inspect> Inspect for Port<S> {
    delegate! {
        show(id: MessageId) -> Option<MessageRecord> => Show, |_| None;
        list(filter: DeliveryFilter) -> Page => List, |_| None;
        counts() -> Vec<DeliveryCount> => Counts, |_| None;
        retry(id: MessageId, handler_key: &str, now: Now) -> bool
            => Retry, |is_ready| Some(u64::from(*is_ready));
        cancel(id: MessageId, handler_key: Option<&str>, now: Now) -> Cancelled
            => Cancel, |cancelled| Some(cancelled.at_once);
        reschedule(id: MessageId, handler_key: Option<&str>, start: Start, now: Now) -> u64
            => Reschedule, |moved| Some(*moved);
        routes(alive_for: Duration, now: Now) -> Vec<RouteRecord> => Routes, |_| None;
        retire(contract: &str, handler_key: &str, now: Now) -> Vec<KnownRoute> => Retire, |_| None;
        restore(contract: &str, handler_key: &str, now: Now) -> Vec<KnownRoute>
            => Restore, |_| None;
        hosts() -> Vec<HostRecord> => Hosts, |_| None;
        lanes(filter: LaneFilter) -> Vec<LaneRecord> => Lanes, |_| None;
        unblock(lane: &Lane, now: Now) -> bool => Unblock, |_| None;
    }
}
