use std::collections::BTreeMap;
use std::num::NonZeroU32;

use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{
    DeliveryState, LeaseLost, LeaseRequest, LeaseToken, OnDead, Renewed, Runs, Settle, Terms,
    Wanted,
};

use super::model::{Lease, TENANTS, World};
use crate::conformance::kit::{DONE, HOLD, Held, SECOND, dead, fail_after, wanted};

impl World {
    /// Some handlers, some versions, and now and then only some tenants.
    pub(super) async fn lease(&mut self, limit: u32) {
        let mut asked = Vec::<Wanted>::new();
        for _ in 0..3 {
            let contract = self.contract();
            let mut wanted = wanted(&self.handler_key(&contract), limit);
            wanted.versions = (1..3).filter(|_| self.chance.u8(0..4) > 0).collect();
            wanted.terms = self.terms();
            if !asked.iter().any(|other| other.handler_key == wanted.handler_key) {
                asked.push(wanted);
            }
        }
        let host = self.host();
        let tenants = TENANTS.iter().filter(|_| self.chance.bool()).map(|&one| one.to_owned());
        let tenants = Some(tenants.collect()).filter(|_| self.chance.u8(0..3) == 0);
        let request = LeaseRequest { tenants, ..host.request(asked.clone()) };
        let held = host.lease_requested(request).await;
        self.hold(&held);
        self.keeps_limits(&asked, &held);
    }

    /// Nothing blocks for good, so that everything comes to its end. In some walks there are limits, which
    /// differ from worker to worker.
    fn terms(&mut self) -> Terms {
        let fleet = NonZeroU32::new(self.chance.u32(1..5)).filter(|_| self.seed % 2 == 1);
        let per_key = NonZeroU32::new(self.chance.u32(1..3)).filter(|_| self.seed % 4 > 1);
        let some = |count: u32| NonZeroU32::MIN.saturating_add(count);
        let runs = Runs { lanes: some(self.chance.u32(0..4)), length: some(self.chance.u32(0..6)) };
        Terms { on_dead: OnDead::Skip, fleet, per_key, runs }
    }

    pub(super) fn hold(&mut self, held: &[Held]) {
        self.in_order(held);
        for held in held {
            let key = &held.delivery.handler_key;
            let seen = self.seen.get(&(held.id(), Some(key.clone())));
            let was_free = seen.is_some_and(|record| match record.state {
                DeliveryState::Pending => true,
                // A run is also of what waits behind its lane.
                DeliveryState::Waiting => record.reason.as_deref() == Some("lane"),
                _ => false,
            });
            assert!(was_free, "this was leased: {seen:?}");
            let permits = held.permits.map_or(usize::MAX, |permits| permits.get() as usize);
            let (expires_at, open) = (held.expires_at, BTreeMap::new());
            let lease = self.leases.entry(held.token);
            let lease = lease.or_insert_with(|| Lease { expires_at, permits, open });
            let twice = lease.open.insert(held.id(), key.clone());
            assert_eq!(twice, None, "a message is in a lease twice");
        }
    }

    /// One that was leased some time, and whether it is held still.
    fn leased(&mut self) -> Option<(LeaseToken, bool)> {
        let token = self.chance.choice(self.leases.keys().copied())?;
        Some((token, !self.leases[&token].open.is_empty()))
    }

    fn is_stopped(&self, id: MessageId, key: &str) -> bool {
        self.stopped.contains(&(id, Some(key.to_owned())))
    }

    pub(super) async fn renew(&mut self) {
        let Some((token, held)) = self.leased() else { return };
        let answer = self.host().renew_fully(vec![token], HOLD).await;
        let until = self.hosts[0].later(HOLD);
        let lease = &self.leases[&token];
        let cancelled = lease.open.iter().filter(|(id, key)| self.is_stopped(**id, key));
        let cancelled = cancelled.map(|(id, _)| *id).collect();
        let renewed = Renewed { expires_at: until, cancelled };
        assert_eq!(answer, [if held { Ok(renewed) } else { Err(LeaseLost(token)) }]);
        if let (true, Some(lease)) = (held, self.leases.get_mut(&token)) {
            lease.expires_at = until;
        }
    }

    pub(super) async fn release(&mut self) {
        let Some((token, held)) = self.leased() else { return };
        let returned = self.host().release(vec![token]).await;
        let open = self.leases.get_mut(&token).map(|lease| &mut lease.open);
        let open = open.map(std::mem::take).unwrap_or_default();
        let ready = open.iter().filter(|(id, key)| !self.is_stopped(**id, key)).count();
        assert_eq!((usize::try_from(returned), held), (Ok(ready), !open.is_empty()));
    }

    /// Takes away what has expired, and nothing else; answers how many are not at their end.
    pub(super) async fn reclaim(&mut self, limit: u32) -> u64 {
        let reclaimed = self.host().reclaim(limit).await;
        let now = self.now();
        for one in &reclaimed.deliveries {
            let holds =
                |lease: &&mut Lease| lease.open.get(&one.message_id) == Some(&one.handler_key);
            let lease = self.leases.values_mut().find(holds);
            let Some(lease) = lease else { panic!("nobody held {one:?}") };
            assert!(lease.expires_at <= now, "it had not expired: {one:?}");
            lease.open.remove(&one.message_id);
        }
        reclaimed.returned() + reclaimed.dead()
    }

    pub(super) async fn settle(&mut self) {
        let Some((token, held)) = self.leased() else { return };
        // Any message of the walk: now and then one that the lease does not hold.
        let own: Vec<MessageId> = self.leases[&token].open.keys().copied().collect();
        let any = self.contracts.keys().copied().collect();
        let from = if own.is_empty() || self.chance.u8(0..8) == 0 { any } else { own };
        let Some(message_id) = self.chance.choice(from) else { return };
        let settlement = self.settlement();
        let answer =
            self.host().settle_all(vec![Settle::by_id(token, message_id, settlement)]).await;
        let open = self.leases.get_mut(&token).map(|lease| &mut lease.open);
        let settled = open.filter(|_| held).is_some_and(|open| open.remove(&message_id).is_some());
        assert_eq!(answer, [if settled { Ok(()) } else { Err(LeaseLost(token)) }]);
    }

    fn settlement(&mut self) -> Settlement {
        match self.chance.u8(0..10) {
            0..3 => DONE,
            3 => Settlement::Done(DoneOutcome::Expired),
            4 => dead(DeadReason::Undecodable),
            5 => Settlement::Release,
            _ => fail_after(SECOND * self.chance.u32(0..90)),
        }
    }
}
