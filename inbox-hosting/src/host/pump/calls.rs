use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use inbox_core::message::MessageId;
use inbox_core::request::LaneRun;
use inbox_core::store::LeaseToken;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::run::Finished;
use super::run_on::RanOn;

/// The calls of handlers that are under way.
#[derive(Debug)]
pub(super) struct Calls {
    kind: Kind,
    running: FuturesUnordered<Running>,
    /// What calls tell that go on with their run. As many deliveries as were handed to them, at most.
    told: (UnboundedSender<WentOn>, UnboundedReceiver<WentOn>),
    /// A call that is over, until everything is read that it told before.
    over: Option<Ended>,
}

/// Where handlers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each in a task of its own.
    Spawned,
    /// In the task that asked for it: when that is dropped, so are they.
    InPlace,
}

/// One call of a handler.
#[derive(Debug)]
pub(super) struct Call {
    /// The handler, by its position in the buffer.
    pub(super) queue: usize,
    /// The lease of quarantined deliveries that it runs one of.
    pub(super) quarantined: Option<LeaseToken>,
    /// Its deliveries, and behind them those that it executes afterwards.
    pub(super) deliveries: Vec<(LeaseToken, MessageId)>,
    /// How many of them it handles at the same time.
    pub(super) at_once: usize,
    /// The runs that they are of.
    pub(super) runs: Vec<LaneRun>,
    /// How many it has told the end of.
    pub(super) ended: Arc<AtomicUsize>,
}

/// A call that is over.
pub(super) type Ended = (Call, Result<RanOn, JoinError>);

/// A delivery that is over, whose call goes on with the next one of its run.
#[derive(Debug)]
pub(super) struct WentOn {
    pub(super) queue: usize,
    pub(super) finished: Finished,
}

/// What happens to a call.
#[derive(Debug)]
pub(super) enum Step {
    WentOn(WentOn),
    Ended(Ended),
}

/// Tells the pump of a delivery that is over, while its call goes on.
#[derive(Debug)]
pub(super) struct Teller {
    queue: usize,
    ended: Arc<AtomicUsize>,
    sender: UnboundedSender<WentOn>,
}

impl Teller {
    pub(super) fn tell(&self, finished: Finished) {
        // Nobody listens any more where the pump is gone, and with it this call.
        let _ = self.sender.send(WentOn { queue: self.queue, finished });
        self.ended.fetch_add(1, Ordering::Release);
    }
}

impl Calls {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, running: FuturesUnordered::new(), told: unbounded_channel(), over: None }
    }

    /// What this call tells with that it goes on.
    pub(super) fn teller(&self, call: &Call) -> Teller {
        let (ended, sender) = (Arc::clone(&call.ended), self.told.0.clone());
        Teller { queue: call.queue, ended, sender }
    }

    pub(super) fn begin(&mut self, call: Call, run: impl Future<Output = RanOn> + Send + 'static) {
        let how = match self.kind {
            Kind::Spawned => How::Spawned(AbortOnDropHandle::new(tokio::spawn(run))),
            Kind::InPlace => How::InPlace(Box::pin(run)),
        };
        self.running.push(Running { call: Some(call), how });
    }

    /// Waits for the next step of a call; there is none where no call is under way.
    pub(super) async fn next(&mut self) -> Option<Step> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Another step, if there is one.
    pub(super) fn next_now(&mut self) -> Option<Step> {
        self.next().now_or_never().flatten()
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Step>> {
        let mut is_none = false;
        if self.over.is_none() {
            match self.running.poll_next_unpin(context) {
                Poll::Ready(Some(ended)) => self.over = Some(ended),
                Poll::Ready(None) => is_none = true,
                Poll::Pending => {}
            }
        }
        // What a call told before it was over is there by now, and comes first. Not by `poll_recv`: where this
        // task has used up its turn, that says that there is nothing.
        if let Ok(went_on) = self.told.1.try_recv() {
            return Poll::Ready(Some(Step::WentOn(went_on)));
        }
        match self.over.take() {
            Some(ended) => Poll::Ready(Some(Step::Ended(ended))),
            None if is_none => Poll::Ready(None),
            None => self.told.1.poll_recv(context).map(|told| told.map(Step::WentOn)),
        }
    }

    pub(super) fn abort_all(&mut self) {
        for running in &mut self.running {
            if let How::Spawned(task) = &running.how {
                task.abort();
            }
        }
    }
}

#[derive(Debug)]
struct Running {
    call: Option<Call>,
    how: How,
}

enum How {
    Spawned(AbortOnDropHandle<RanOn>),
    InPlace(Pin<Box<dyn Future<Output = RanOn> + Send>>),
}

impl Future for Running {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let ended = ready!(match &mut self.how {
            How::Spawned(task) => task.poll_unpin(context),
            How::InPlace(run) => run.as_mut().poll(context).map(Ok),
        });
        match self.call.take() {
            Some(call) => Poll::Ready((call, ended)),
            // Polled after its end, which nobody should do, it stays silent.
            None => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Spawned(_) => "Spawned",
            Self::InPlace(_) => "InPlace",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// How many deliveries a run has: more than tokio lets a task receive in one turn.
    const RUN: u64 = 500;

    fn finished(nth: u64) -> Finished {
        let took = Duration::from_nanos(nth);
        Finished { decided: Vec::new(), lost: Vec::new(), took }
    }

    fn call() -> Call {
        Call {
            queue: 0,
            quarantined: None,
            deliveries: Vec::new(),
            at_once: 1,
            runs: Vec::new(),
            ended: Arc::default(),
        }
    }

    fn nth(step: &Step) -> u128 {
        let finished = match step {
            Step::WentOn(WentOn { finished, .. }) => finished,
            Step::Ended((_, ran_on)) => &ran_on.as_ref().unwrap().last,
        };
        finished.took.as_nanos()
    }

    #[tokio::test]
    async fn the_end_of_a_call_comes_after_all_that_it_told_however_long_its_run_is() {
        for kind in [Kind::Spawned, Kind::InPlace] {
            let steps = tokio::spawn(async move {
                let (mut calls, call) = (Calls::new(kind), call());
                let teller = calls.teller(&call);
                calls.begin(call, async move {
                    for nth in 1..RUN {
                        teller.tell(finished(nth));
                        tokio::task::consume_budget().await;
                    }
                    RanOn { last: finished(RUN), behind: Vec::new() }
                });
                let mut steps = Vec::new();
                while let Some(step) = calls.next().await {
                    steps.push(nth(&step));
                    // As the pump does: without waiting in between.
                    steps.extend(std::iter::from_fn(|| calls.next_now()).map(|step| nth(&step)));
                }
                steps
            });
            let in_order: Vec<_> = (1..=u128::from(RUN)).collect();
            assert_eq!(steps.await.unwrap(), in_order, "of {kind:?}");
        }
    }
}
