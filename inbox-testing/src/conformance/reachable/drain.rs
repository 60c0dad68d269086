use inbox_core::store::{DeliveryState, LaneFilter, OnDead};

use super::model::World;
use crate::conformance::kit::{DONE, SECOND, wanted};

/// Far more than there are quarantined deliveries in a walk, each of which may need a round.
const ROUNDS: usize = 1_000;

impl World {
    /// From here on everything goes well, and so everything comes to its end.
    pub(super) async fn drain(&mut self) {
        for _ in 0..ROUNDS {
            self.pass(SECOND * 3_600);
            if !self.round().await {
                return self.all_settled().await;
            }
        }
        panic!("after {ROUNDS} rounds deliveries still move: {:?}", self.seen)
    }

    /// Does all there is to do once, and says whether anything moved.
    async fn round(&mut self) -> bool {
        let host = self.host();
        let mut moved = host.route(100).await;
        self.check().await;
        moved += host.promote(100).await;
        self.check().await;
        moved += self.reclaim(100).await;
        self.check().await;
        let keys = self.deliveries.iter().filter_map(|(_, key)| key.clone());
        let mut all: Vec<_> = keys.map(|key| wanted(&key, 100)).collect();
        all.sort_by(|a, b| a.handler_key.cmp(&b.handler_key));
        all.dedup();
        for wanted in &mut all {
            wanted.versions = vec![1, 2];
            wanted.terms.on_dead = OnDead::Skip;
        }
        let held = host.lease_wanted(all).await;
        self.hold(&held);
        let answers = host.settle_all(held.iter().map(|held| held.settle(DONE)).collect()).await;
        assert!(answers.iter().all(Result::is_ok), "each was held: {answers:?}");
        for held in &held {
            self.leases.remove(&held.token);
        }
        self.check().await;
        moved > 0 || !held.is_empty()
    }

    async fn all_settled(&self) {
        for record in self.seen.values() {
            let unrouted = record.handler_key.is_none() && record.state == DeliveryState::Waiting;
            assert!(record.state.is_terminal() || unrouted, "it never ends: {record:?}");
        }
        let lanes = self.hosts[0].lanes(LaneFilter::default()).await;
        assert!(lanes.is_empty(), "nobody is left in these: {lanes:?}");
        assert_eq!(self.hosts[0].mend(100).await, 0, "and nothing is broken");
    }
}
