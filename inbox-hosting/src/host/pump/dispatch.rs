use std::sync::Arc;

use inbox_core::request::Attempt;
use inbox_core::store::Store;
use tokio::time::Instant;

use super::Pump;
use super::calls::{Call, Ended};
use super::run::{self, Finished};

impl<S: Store> Pump<S> {
    /// Begins every call that can.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        while let Some((queue, attempts)) = self.buffer.next(now) {
            let pipeline = Arc::clone(&self.handlers[queue]);
            let quarantined = attempts.iter().find(|attempt| attempt.is_quarantined());
            let quarantined = quarantined.and_then(Attempt::token);
            let deliveries = attempts
                .iter()
                .filter_map(|attempt| Some((attempt.token()?, attempt.message_id())));
            let call = Call { queue, quarantined, deliveries: deliveries.collect() };
            self.running += call.deliveries.len();
            self.calls.begin(call, run::run(Arc::clone(&self.shared), pipeline, attempts));
        }
    }

    /// A call is over, and with it perhaps others.
    pub(super) fn finished(&mut self, ended: Ended) {
        let mut next = Some(ended);
        while let Some((call, finished)) = next {
            self.running = self.running.saturating_sub(call.deliveries.len());
            match finished {
                Ok(Finished { decided, took }) => {
                    self.buffer.ended(call.queue, call.quarantined, Some(took));
                    self.lost(&call, call.deliveries.len().saturating_sub(decided.len()));
                    for one in decided {
                        match one.written {
                            Some(state) => self.note(&one, Some(Ok(state))),
                            None => self.settle_later(one),
                        }
                    }
                }
                Err(error) => {
                    self.buffer.ended(call.queue, call.quarantined, None);
                    match error.is_cancelled() {
                        true => self.aborted.extend(call.deliveries),
                        // Not the handler's, which is caught: the deliveries come back when their
                        // leases expire.
                        false => {
                            tracing::error!(target: "inbox::host", %error, "call panicked");
                            self.lost(&call, call.deliveries.len());
                            for (token, _) in call.deliveries {
                                self.shared.leases.done(token);
                            }
                        }
                    }
                }
            }
            next = self.calls.next_ended();
        }
    }

    /// So many deliveries of a call are not this host's any more, and nobody settles them.
    fn lost(&mut self, call: &Call, deliveries: usize) {
        for _ in 0..call.quarantined.map_or(0, |_| deliveries) {
            self.quarantined_ended(false);
        }
    }
}
