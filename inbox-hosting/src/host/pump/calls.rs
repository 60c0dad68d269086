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
        let running = match &self.over {
            Some(_) => Poll::Pending,
            None => self.running.poll_next_unpin(context),
        };
        let is_none = matches!(running, Poll::Ready(None));
        if let Poll::Ready(Some(ended)) = running {
            self.over = Some(ended);
        }
        // What a call told before it was over is there by now.
        if let Poll::Ready(Some(went_on)) = self.told.1.poll_recv(context) {
            return Poll::Ready(Some(Step::WentOn(went_on)));
        }
        match self.over.take() {
            Some(ended) => Poll::Ready(Some(Step::Ended(ended))),
            None if is_none => Poll::Ready(None),
            None => Poll::Pending,
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
