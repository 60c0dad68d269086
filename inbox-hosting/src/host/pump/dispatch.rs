use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_core::request::Attempt;
use inbox_core::store::Store;
use tokio::time::Instant;

use super::Pump;
use super::calls::{Call, Ended, Step, WentOn};
use super::decided::Decided;
use super::run_on::{RanOn, run_on};
use super::runs::After;
use super::stop::Aborted;

impl<S: Store> Pump<S> {
    /// Begins every call that can.
    pub(super) fn begin(&mut self) {
        let now = Instant::now();
        while let Some((queue, attempts)) = self.buffer.next(now) {
            let pipeline = Arc::clone(&self.handlers[queue]);
            let behind = self.buffer.behind(queue, &attempts);
            let quarantined = attempts.iter().find(|attempt| attempt.is_quarantined());
            let quarantined = quarantined.and_then(Attempt::token);
            let deliveries = attempts
                .iter()
                .chain(&behind)
                .filter_map(|attempt| Some((attempt.token()?, attempt.message_id())));
            let call = Call {
                queue,
                quarantined,
                deliveries: deliveries.collect(),
                at_once: attempts.len(),
                runs: attempts.iter().filter_map(|attempt| attempt.run().cloned()).collect(),
                ended: Arc::new(AtomicUsize::new(0)),
            };
            self.running += call.at_once;
            let (shared, teller) = (Arc::clone(&self.shared), self.calls.teller(&call));
            self.calls.begin(call, run_on(shared, pipeline, attempts, behind, teller));
        }
    }

    /// A call is over, or goes on with its run, and with it perhaps others.
    pub(super) fn stepped(&mut self, step: Step) {
        let mut next = Some(step);
        while let Some(step) = next {
            match step {
                Step::Ended(ended) => self.ended(ended),
                Step::WentOn(WentOn { queue, finished }) => {
                    self.buffer.went_on(queue, finished.took);
                    finished.decided.into_iter().for_each(|one| self.decided(one));
                }
            }
            next = self.calls.next_now();
        }
    }

    fn ended(&mut self, (mut call, ran_on): Ended) {
        self.running = self.running.saturating_sub(call.at_once);
        let error = match ran_on {
            Ok(ran_on) => return self.ran_on(&call, ran_on),
            Err(error) => error,
        };
        self.buffer.ended(call.queue, call.quarantined, None);
        let open = call.deliveries.split_off(call.ended.load(Ordering::Acquire));
        self.buffer.left(open.len().saturating_sub(call.at_once));
        if error.is_cancelled() {
            let mut aborted = Aborted { deliveries: open, runs: call.runs };
            for run in &aborted.runs {
                let rest = self.buffer.stop(call.queue, run).into_iter();
                let rest = rest.filter_map(|it| Some((it.token()?, it.message_id())));
                aborted.deliveries.extend(rest);
            }
            self.aborted.push(aborted);
            return;
        }
        // Not the handler's, which is caught: the deliveries come back when their leases expire.
        tracing::error!(target: "inbox::host", %error, "call panicked");
        self.lost(&call, call.at_once);
        for (token, _) in open {
            self.shared.leases.done(token);
        }
        for run in &call.runs {
            match run.is_lane() {
                true => self.lose_run(call.queue, run),
                false => self.buffer.queues[call.queue].line.goes_on(run, Instant::now()),
            }
        }
    }

    fn ran_on(&mut self, call: &Call, RanOn { last, behind }: RanOn) {
        self.buffer.ended(call.queue, call.quarantined, Some(last.took));
        self.lost(call, call.at_once.saturating_sub(last.decided.len()));
        let stopped = self.buffer.put_back(call.queue, behind);
        for run in &last.lost {
            self.lose_run(call.queue, run);
        }
        for one in last.decided {
            let run = one.run.clone().map(|run| (run, After::of(&one, &self.handlers[call.queue])));
            self.decided(one);
            let line = &mut self.buffer.queues[call.queue].line;
            match run {
                None => {}
                Some((run, After::GoesOn)) => line.goes_on(&run, Instant::now()),
                Some((run, After::Waits)) => line.waits(&run),
                Some((run, After::Stops)) => {
                    let rest = self.buffer.stop(call.queue, &run);
                    self.give_back(rest);
                }
            }
        }
        // Their run was lost meanwhile.
        self.lose(stopped);
    }

    /// It is known what becomes of a delivery.
    fn decided(&mut self, decided: Decided) {
        match decided.written {
            Some(state) => self.note(&decided, Some(Ok(state))),
            None => self.unsettled.push(decided),
        }
    }

    /// So many deliveries of a call are not this host's any more, and nobody settles them.
    fn lost(&mut self, call: &Call, deliveries: usize) {
        for _ in 0..call.quarantined.map_or(0, |_| deliveries) {
            self.quarantined_ended(false);
        }
    }
}
