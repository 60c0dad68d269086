use inbox_core::settle::DeadReason;
use inbox_core::store::DeadDelivery;

/// Lines of one round at most: after an outage there may be thousands, all for the same reason.
const MOST: usize = 100;

/// Logs the deliveries that a chore dead-letters in one round, each by name: no worker holds them, so
/// nobody else says so. Those beyond the limit are counted, in a last line.
pub(super) struct DeadLog {
    reason: DeadReason,
    left: usize,
    more: usize,
}

impl DeadLog {
    pub(super) const fn new(reason: DeadReason) -> Self {
        Self { reason, left: MOST, more: 0 }
    }

    pub(super) fn log(&mut self, dead: &[DeadDelivery]) {
        let (named, more) = dead.split_at(self.left.min(dead.len()));
        self.left -= named.len();
        self.more += more.len();
        for DeadDelivery { message_id, handler_key, attempts } in named {
            tracing::error!(
                target: "inbox::settle",
                %message_id, handler_key, attempts, reason = %self.reason,
                "delivery dead-lettered"
            );
        }
    }
}

/// However the round ends.
impl Drop for DeadLog {
    fn drop(&mut self) {
        if self.more > 0 {
            tracing::error!(
                target: "inbox::settle",
                more = self.more, reason = %self.reason,
                "more deliveries dead-lettered"
            );
        }
    }
}
