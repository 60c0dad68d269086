use std::num::NonZeroU32;

use inbox_core::Timestamp;
use inbox_core::message::Delivery;
use inbox_core::message::MessageId;
use inbox_core::store::{Lease, LeaseRequest, LeaseToken, Runs, Terms, Wanted};

use super::HOLD;
use super::bench::{Bench, must};

/// The workers that may vanish with what [`wanted`] claims, after the first two.
pub(crate) const MAX_CRASHES: u32 = 3;

/// One leased delivery, whether its store leases it alone or with others.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) token: LeaseToken,
    /// The key that it was claimed for.
    pub(crate) claimed_for: String,
    pub(crate) leased_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    /// How many permits the deliveries of its lease share.
    pub(crate) permits: Option<NonZeroU32>,
    pub(crate) delivery: Delivery,
}

impl Held {
    pub(crate) fn id(&self) -> MessageId {
        self.delivery.message.id
    }
}

/// At most `limit` deliveries of version 1.
pub(crate) fn wanted(handler_key: &str, limit: u32) -> Wanted {
    Wanted {
        handler_key: handler_key.to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MIN.saturating_add(limit.saturating_sub(1)),
        max_crashes: NonZeroU32::MIN.saturating_add(MAX_CRASHES - 1),
        terms: Terms::default(),
    }
}

/// At most `limit` deliveries of version 1, in runs: of so many lanes, each so long.
pub(crate) fn running(handler_key: &str, limit: u32, lanes: u32, length: u32) -> Wanted {
    let some = |count: u32| NonZeroU32::MIN.saturating_add(count.saturating_sub(1));
    let runs = Runs { lanes: some(lanes), length: some(length) };
    Wanted { terms: Terms { runs, ..Terms::default() }, ..wanted(handler_key, limit) }
}

impl Bench {
    /// All of these, and one that is quarantined.
    pub(crate) fn request(&self, wanted: Vec<Wanted>) -> LeaseRequest {
        let (quarantine, first) = (Some(NonZeroU32::MIN), None);
        let (host, duration, tenants) = (self.host.clone(), HOLD, None);
        LeaseRequest { host, duration, wanted, tenants, quarantine, first }
    }

    /// Leases as a worker that serves these tenants alone.
    pub(crate) async fn lease_for(
        &self,
        tenants: &[&str],
        handler_key: &str,
        limit: u32,
    ) -> Vec<Held> {
        let wanted = vec![wanted(handler_key, limit)];
        let tenants = tenants.iter().map(|&tenant| tenant.to_owned()).collect();
        let request = LeaseRequest { tenants: Some(tenants), ..self.request(wanted) };
        self.lease_requested(request).await
    }

    pub(crate) async fn lease(&self, handler_key: &str, limit: u32) -> Vec<Held> {
        self.lease_wanted(vec![wanted(handler_key, limit)]).await
    }

    /// The one delivery that is ready for `handler_key`.
    pub(crate) async fn lease_one(&self, handler_key: &str) -> Held {
        let mut held = self.lease(handler_key, 10).await;
        assert_eq!(held.len(), 1, "one delivery of `{handler_key}` should be ready");
        held.remove(0)
    }

    pub(crate) async fn lease_wanted(&self, wanted: Vec<Wanted>) -> Vec<Held> {
        self.lease_requested(self.request(wanted)).await
    }

    pub(crate) async fn lease_requested(&self, request: LeaseRequest) -> Vec<Held> {
        flat(&request, self.leases(request.clone()).await)
    }

    pub(crate) async fn leases(&self, request: LeaseRequest) -> Vec<Lease> {
        must("lease", self.store.lease(request, self.at()).await)
    }
}

/// The deliveries in the order given; what is true of every answer is checked here.
fn flat(request: &LeaseRequest, leases: Vec<Lease>) -> Vec<Held> {
    let wanted = &request.wanted;
    let (mut flat, mut quarantined) = (Vec::new(), Vec::new());
    for lease in leases {
        if lease.quarantined {
            quarantined.push((lease.handler_key.clone(), lease.deliveries.len()));
        }
        assert!(lease.unreadable.is_empty(), "no row is damaged: {:?}", lease.unreadable);
        assert!(!lease.deliveries.is_empty(), "a lease of nothing was answered");
        for delivery in lease.deliveries {
            let of_a_run = delivery.message.ordering_key.is_some();
            let fits = delivery.handler_key == lease.handler_key || of_a_run;
            assert!(fits, "only runs are of several handler keys: {delivery:?}");
            let (token, leased_at, expires_at) = (lease.token, lease.leased_at, lease.expires_at);
            let (claimed_for, permits) = (lease.handler_key.clone(), lease.permits);
            flat.push(Held { token, claimed_for, leased_at, expires_at, permits, delivery });
        }
    }
    let asked = |held: &Held| {
        let (key, version) = (&held.delivery.handler_key, held.delivery.message.version);
        wanted.iter().any(|w| w.handler_key == *key && w.versions.contains(&version))
    };
    assert!(flat.iter().all(asked), "only what is wanted is leased");
    let served = |held: &Held| request.serves(&held.delivery.message.tenant);
    assert!(flat.iter().all(served), "only what the worker's tenants sent is leased");
    let groups = usize::from(request.quarantine.is_some());
    assert!(quarantined.len() <= groups, "a host has one such lease: {quarantined:?}");
    let apart = |key: &str| {
        let of_key = quarantined.iter().filter(|(of, _)| of == key);
        of_key.map(|(_, count)| count).sum::<usize>()
    };
    for w in wanted {
        let given = flat.iter().filter(|held| held.claimed_for == w.handler_key).count();
        let given = given - apart(&w.handler_key);
        let limit = usize::try_from(w.limit.get()).unwrap_or(usize::MAX);
        assert!(given <= limit, "{given} of `{}` were leased, wanted {limit}", w.handler_key);
    }
    flat
}
