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
                    self.hand_on(&name, now);
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
            let due_at = Some(start);
            let place = match &self.deliveries[&name].place {
                // It waits for a route, and then until its start.
                Place::Unrouted { .. } => Place::Unrouted { due_at },
                Place::Waiting { reason, error, .. } if start > now => {
                    Place::Waiting { due_at, reason, error: error.clone() }
                }
                // It is there from its new start on, as far as its lane is concerned.
                Place::Ready { .. } if start > now => {
                    if let Some(row) = self.deliveries.get_mut(&name) {
                        row.position = None;
                    }
                    Place::Waiting { due_at, reason: "delay", error: None }
                }
                // It keeps its turn.
                Place::Ready { seq } => Place::Ready { seq: *seq },
                Place::Waiting { .. } => {
                    self.make_ready(&name, now);
                    moved += 1;
                    continue;
                }
                Place::Lease(_) | Place::Dead { .. } | Place::Done { .. } => continue,
            };
            self.move_to(&name, place);
            self.hand_on(&name, now);
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
