use inbox_core::settle::DeadReason;
use inbox_core::store::{DeadDelivery, DeliveryState, ReclaimedDelivery};

/// Lines of one kind and round at most: after an outage there may be thousands, all for the same reason.
const MOST: usize = 100;

/// Logs the deliveries that a chore dead-letters or takes from a vanished worker in one round, each by name:
/// no worker holds them, so nobody else says so. Those beyond the limit are counted, in a last line.
#[derive(Default)]
pub(super) struct DeliveryLog {
    dead: usize,
    vanished: usize,
}

impl DeliveryLog {
    pub(super) fn orphaned(&mut self, dead: &[DeadDelivery]) {
        for DeadDelivery { message_id, handler_key, attempts } in dead {
            self.dead += 1;
            if self.dead <= MOST {
                let reason = DeadReason::Orphaned;
                tracing::error!(
                    target: "inbox::settle",
                    %message_id, handler_key, attempts, %reason,
                    "delivery dead-lettered"
                );
            }
        }
    }

    pub(super) fn reclaimed(&mut self, reclaimed: &[ReclaimedDelivery]) {
        for one in reclaimed {
            let ReclaimedDelivery { message_id, handler_key, host, attempts, crashes, state } = one;
            let is_dead = *state == DeliveryState::Dead;
            let count = if is_dead { &mut self.dead } else { &mut self.vanished };
            *count += 1;
            match is_dead {
                _ if *count > MOST => {}
                true => {
                    let reason = DeadReason::LeaseExpired;
                    tracing::error!(
                        target: "inbox::settle",
                        %message_id, handler_key, attempts, %reason, crashes, host,
                        "delivery dead-lettered"
                    );
                }
                false => tracing::warn!(
                    target: "inbox::lease",
                    %message_id, handler_key, crashes, host, %state,
                    "worker vanished with a delivery"
                ),
            }
        }
    }
}

/// However the round ends.
impl Drop for DeliveryLog {
    fn drop(&mut self) {
        let more = self.dead.saturating_sub(MOST);
        if more > 0 {
            tracing::error!(target: "inbox::settle", more, "more deliveries dead-lettered");
        }
        let more = self.vanished.saturating_sub(MOST);
        if more > 0 {
            tracing::warn!(target: "inbox::lease", more, "worker vanished with more deliveries");
        }
    }
}
