use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use inbox_core::message::MessageId;
use inbox_core::store::LeaseToken;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::run::Finished;

/// The calls of handlers that are under way.
#[derive(Debug)]
pub(super) struct Calls {
    kind: Kind,
    running: FuturesUnordered<Running>,
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
    pub(super) deliveries: Vec<(LeaseToken, MessageId)>,
}

/// A call that is over.
pub(super) type Ended = (Call, Result<Finished, JoinError>);

impl Calls {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, running: FuturesUnordered::new() }
    }

    pub(super) fn begin(
        &mut self,
        call: Call,
        run: impl Future<Output = Finished> + Send + 'static,
    ) {
        let how = match self.kind {
            Kind::Spawned => How::Spawned(AbortOnDropHandle::new(tokio::spawn(run))),
            Kind::InPlace => How::InPlace(Box::pin(run)),
        };
        self.running.push(Running { call: Some(call), how });
    }

    /// Waits for the next call to end.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        self.running.next().await
    }

    /// Another one that has ended, if there is one.
    pub(super) fn next_ended(&mut self) -> Option<Ended> {
        self.running.next().now_or_never().flatten()
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
    Spawned(AbortOnDropHandle<Finished>),
    InPlace(Pin<Box<dyn Future<Output = Finished> + Send>>),
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
