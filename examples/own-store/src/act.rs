use inbox::Timestamp;
use inbox::message::MessageId;
use inbox::schedule::Start;
use inbox::store::Cancelled;

use crate::table::{Name, Place, Table};

impl Table {
    pub(crate) fn cancel(
        &mut self,
        id: MessageId,
        handler_key: Option<&str>,
        now: Timestamp,
    ) -> Cancelled {
        let mut cancelled = Cancelled::default();
        for name in self.concerned(id, handler_key) {
            match self.deliveries[&name].place {
                Place::Ready { .. } | Place::Waiting { .. } | Place::Unrouted { .. } => {
                    self.move_to(&name, Place::cancelled(now));
                    self.hand_on(&name, true, now);
                    // One behind it may have its turn.
                    self.bell.ring();
                    cancelled.at_once += 1;
                }
                Place::Lease(token) => {
                    if let Some(held) = self.leases.get_mut(&token) {
                        held.cancelled.insert(id);
                        cancelled.asked += 1;
                    }
                }
                Place::Dead { .. } | Place::Done { .. } => {}
            }
        }
        cancelled
    }

    pub(crate) fn reschedule(
        &mut self,
        id: MessageId,
        handler_key: Option<&str>,
        start: Start,
        now: Timestamp,
    ) -> u64 {
        let start = start.due_at(now);
        let mut moved = 0;
        for name in self.concerned(id, handler_key) {
            let place = match &self.deliveries[&name].place {
                // It waits for a route, and then until its start.
                Place::Unrouted { seq, .. } => Place::Unrouted { seq: *seq, due_at: Some(start) },
                Place::Waiting { reason, error, .. } if start > now => {
                    let (due_at, error) = (Some(start), error.clone());
                    Place::Waiting { due_at, reason, error }
                }
                // It keeps its turn.
                Place::Ready { seq } if start <= now => Place::Ready { seq: *seq },
                Place::Ready { .. } | Place::Waiting { .. } => {
                    self.ready_or_waiting(Some(start), now)
                }
                Place::Lease(_) | Place::Dead { .. } | Place::Done { .. } => continue,
            };
            self.move_to(&name, place);
            self.bell.ring();
            moved += 1;
        }
        moved
    }

    /// The delivery of one handler, or all of the message.
    fn concerned(&self, id: MessageId, handler_key: Option<&str>) -> Vec<Name> {
        let of_message = self.deliveries.keys().filter(|name| name.0 == id);
        of_message
            .filter(|name| handler_key.is_none() || name.1.as_deref() == handler_key)
            .cloned()
            .collect()
    }
}
