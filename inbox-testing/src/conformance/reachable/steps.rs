use std::time::Duration;

use inbox_core::message::Envelope;
use inbox_core::schedule::{Priority, Start};
use inbox_core::store::DeliveryRecord;

use super::model::{Keys, Name, TENANTS, World};
use crate::conformance::kit::{SECOND, is_new, of_tenant, route_of};

impl World {
    /// Something happens.
    pub(super) async fn step(&mut self) {
        let limit = self.chance.u32(1..6);
        match self.chance.u8(0..100) {
            0..22 => self.accept().await,
            22..29 => self.register().await,
            29..49 => self.lease(limit).await,
            49..54 => self.renew().await,
            54..70 => self.settle().await,
            70..74 => self.release().await,
            74..80 => _ = self.host().promote(limit).await,
            80..86 => _ = self.reclaim(limit).await,
            86..88 => _ = self.host().route(limit).await,
            88..91 => self.cancel().await,
            91..93 => self.reschedule().await,
            _ => {
                let seconds = SECOND * self.chance.u32(0..45);
                let micros = Duration::from_micros(self.chance.u64(0..3));
                self.pass(seconds + micros);
            }
        }
    }

    async fn accept(&mut self) {
        let count = self.chance.usize(1..4);
        let batch: Vec<_> = (0..count).map(|_| self.envelope()).collect();
        let answers = self.host().accept(batch.clone()).await;
        for (envelope, answer) in batch.into_iter().zip(&answers) {
            let message = envelope.message;
            let scope = format!("{}/{}", message.tenant, message.contract);
            let key = message.idempotency_key.map(|key| format!("{scope}/{key}"));
            let expected = key.is_none_or(|key| self.keys.insert(key));
            assert_eq!(is_new(answer), expected, "whether {} is new", message.id);
            if expected {
                let (ordering, concurrency) = (message.ordering_key, message.concurrency_key);
                let keys = Keys { tenant: message.tenant, ordering, concurrency };
                self.keyed.insert(message.id, keys);
                self.last_position += 1;
                self.accepted.insert(message.id, self.last_position);
                self.deliver(message.id, &message.contract);
                self.contracts.insert(message.id, message.contract);
            }
        }
    }

    fn envelope(&mut self) -> Envelope {
        let mut envelope = of_tenant(TENANTS[self.chance.usize(0..3)], &self.contract());
        envelope.message.version = self.chance.u32(1..3);
        if self.chance.bool() {
            envelope.message.idempotency_key = Some(format!("key-{}", self.chance.u8(0..20)));
        }
        let shared = |chance: &mut fastrand::Rng| {
            (chance.u8(0..3) > 0).then(|| format!("shared-{}", chance.u8(0..2)))
        };
        envelope.message.ordering_key = shared(&mut self.chance);
        envelope.message.concurrency_key = shared(&mut self.chance);
        envelope.priority = if self.chance.bool() { Priority::High } else { Priority::Low };
        envelope.start = match self.chance.u8(0..4) {
            0 => Start::After(SECOND * self.chance.u32(0..60)),
            1 => Start::At(self.hosts[0].later(SECOND * self.chance.u32(0..60))),
            _ => Start::Immediately,
        };
        envelope
    }

    /// Any message of the walk, whatever has become of it, or one of its handlers. Mostly one that has been
    /// leased and has not come to its end: that is where lanes are.
    fn any_delivery(&mut self) -> Option<Name> {
        let open = |record: &DeliveryRecord| !record.state.is_terminal() && record.attempts > 0;
        let begun = self.seen.iter().filter(|(_, record)| open(record));
        let begun: Vec<&Name> = begun.map(|(name, _)| name).collect();
        let begun = self.chance.choice(begun).filter(|_| self.chance.u8(0..4) > 0);
        let (id, key) = begun.or_else(|| self.chance.choice(&self.deliveries))?.clone();
        Some((id, key.filter(|_| self.chance.bool())))
    }

    async fn cancel(&mut self) {
        let Some((id, key)) = self.any_delivery() else { return };
        self.host().cancel(id, key.as_deref()).await;
        let concerned = |name: &&Name| name.0 == id && (key.is_none() || name.1 == key);
        for name in self.deliveries.iter().filter(concerned) {
            let seen = self.seen.get(name);
            if seen.is_none_or(|record| !record.state.is_terminal()) {
                self.stopped.insert(name.clone());
            }
        }
    }

    async fn reschedule(&mut self) {
        let Some((id, key)) = self.any_delivery() else { return };
        let start = Start::After(SECOND * self.chance.u32(0..60));
        self.host().reschedule(id, key.as_deref(), start).await;
    }

    async fn register(&mut self) {
        let contract = self.contract();
        let key = self.handler_key(&contract);
        let old = self.handler_key(&contract);
        // A key that supersedes another is never superseded itself, so there is a route in the end.
        let replaces = self.chance.u8(0..4) == 0 && old > key;
        let supersedes: &[&str] = if replaces { &[&old] } else { &[] };
        let host = self.host();
        host.register_all(vec![route_of(&contract, &key, supersedes)]).await;

        // A key goes on where the one was that it superseded when it was new.
        let before = if replaces { &old } else { &key };
        let first_key = self.first_keys.get(before).unwrap_or(before).clone();
        self.first_keys.entry(key.clone()).or_insert(first_key);
        if replaces {
            self.first_keys.entry(old.clone()).or_insert_with(|| old.clone());
        }
        self.superseded.extend(supersedes.iter().map(|&old| old.to_owned()));
        let routes = self.routes.entry(contract.clone()).or_default();
        routes.insert(key);
        routes.retain(|key| !self.superseded.contains(key));
        if routes.is_empty() {
            return;
        }
        let waiting = self.deliveries.extract_if(.., |name| {
            let of_contract = self.contracts.get(&name.0) == Some(&contract);
            name.1.is_none() && of_contract && !self.stopped.contains(name)
        });
        for (id, _) in waiting.collect::<Vec<_>>() {
            self.deliver(id, &contract);
        }
    }
}
