use std::sync::Arc;

use inbox_core::message::MessageId;
use inbox_core::settle::Settlement;
use inbox_core::store::{LeaseToken, Store};
use tokio::task::{Id, JoinError};
use tokio::time::Instant;

use super::Pump;
use super::run::{self, Finished};
use crate::host::{DeliveryInfo, Event};
use crate::work::{Judged, Work};

/// One call of a handler.
pub(super) struct Slot {
    place: usize,
    suspect: Option<LeaseToken>,
    pub(super) deliveries: Vec<(LeaseToken, MessageId)>,
}

impl<S: Store> Pump<S> {
    /// Begins every call that can.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        while let Some((place, works)) = self.desk.next(now) {
            let pipeline = Arc::clone(&self.desk.places[place].pipeline);
            let suspect = works.iter().find(|work| work.suspect).map(|work| work.lease.token());
            let (works, lost): (Vec<Work>, Vec<Work>) = works
                .into_iter()
                .partition(|work| self.shared.leases.may_begin(work.lease.token()));
            for work in lost {
                self.shared.observers.tell(|| Event::LeaseLost(DeliveryInfo::from(&work)));
                if self.shared.leases.is_held(work.lease.token()) {
                    // A renewal that is under way may turn out to have been in time.
                    self.settle_later(Judged::new(work, Settlement::Release));
                }
            }
            if works.is_empty() {
                self.desk.ended(place, suspect, None);
                continue;
            }
            let deliveries: Vec<_> =
                works.iter().map(|work| (work.lease.token(), work.message_id)).collect();
            let run = run::run(Arc::clone(&self.shared), pipeline, works);
            self.running += deliveries.len();
            let id = self.runs.spawn(run).id();
            self.slots.insert(id, Slot { place, suspect, deliveries });
        }
    }

    /// A call is over, and with it perhaps others.
    pub(super) fn finished(&mut self, joined: Result<(Id, Finished), JoinError>) {
        let mut next = Some(joined);
        while let Some(joined) = next {
            let id = joined.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
            let Some(slot) = self.slots.remove(&id) else { return };
            self.running = self.running.saturating_sub(slot.deliveries.len());
            match joined {
                Ok((_, Finished { judged, took })) => {
                    self.desk.ended(slot.place, slot.suspect, Some(took));
                    for one in judged {
                        match one.written {
                            Some(written) => self.note(&one, Some(written)),
                            None => self.settle_later(one),
                        }
                    }
                }
                Err(error) => {
                    self.desk.ended(slot.place, slot.suspect, None);
                    match error.is_cancelled() {
                        true => self.aborted.extend(slot.deliveries),
                        // Not the handler's, which is caught: the deliveries come back when their
                        // leases expire.
                        false => {
                            tracing::error!(%error, "a call failed as it never should");
                            for (token, _) in slot.deliveries {
                                self.shared.leases.done(token);
                            }
                        }
                    }
                }
            }
            next = self.runs.try_join_next_with_id();
        }
    }
}
