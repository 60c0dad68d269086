use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use inbox_core::message::MessageId;
use inbox_core::request::Attempt;
use inbox_core::store::{DeadDelivery, DeliveryState, Reclaimed};
use tokio::sync::oneshot;

use super::HostLoop;

/// Events of deliveries that wait for a slow observer; what comes on top is not told.
const MOST_WAITING: usize = 10_000;

/// Is told what a host does. Given to the builder: `.observer(value)`.
///
/// Observers are called one event after the other, on a thread of their own: they may block, and
/// whatever they do, the host does not wait for them. A panic is logged. One that falls behind by ten
/// thousand deliveries is not told of those that follow until it has caught up.
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn notice(&self, event: &Event);
}

/// What a host does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// It begins: nothing has been leased.
    Starting,
    /// Its loops run.
    Started,
    /// It leases nothing more, and lets handlers finish.
    Stopping,
    /// It has ended.
    Stopped,
    /// A handler is called for this delivery.
    Dispatched(DeliveryInfo),
    /// A delivery was settled, and is in this state now.
    Settled {
        /// The delivery.
        delivery: DeliveryInfo,
        /// Its state: pending if it was given back, untried.
        state: DeliveryState,
    },
    /// The lease of a delivery was lost, or its outcome could not be written before: whatever its
    /// handler did, another worker will be called.
    LeaseLost(DeliveryInfo),
    /// This host reclaimed expired leases of vanished workers. Deliveries that are dead because of it are in no
    /// other event.
    Reclaimed(Reclaimed),
    /// This host dead-lettered these deliveries because no live host serves their handler keys. They are in
    /// no other event.
    Orphaned(Vec<DeadDelivery>),
    /// A loop failed as it never should, and is started again after a while.
    Restarting(HostLoop),
}

/// A delivery that a host has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryInfo {
    /// The message.
    pub message_id: MessageId,
    /// The key the delivery is stored under.
    pub handler_key: Arc<str>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

impl From<&Attempt> for DeliveryInfo {
    fn from(attempt: &Attempt) -> Self {
        let (message_id, handler_key) = (attempt.message_id(), attempt.handler_key());
        Self { message_id, handler_key, attempt: attempt.delivery().attempt }
    }
}

/// Passes events on to the observers. Gone with this value, once they have been told what is left.
#[derive(Debug)]
pub(crate) struct Observers {
    sender: Option<mpsc::Sender<Event>>,
    waiting: Arc<AtomicUsize>,
}

impl Observers {
    /// Nobody is told.
    pub(crate) fn none() -> Self {
        Self { sender: None, waiting: Arc::default() }
    }

    /// Starts their thread, if there are any, and answers how to wait for its end.
    pub(crate) fn start(
        observers: Vec<Arc<dyn Observer>>,
    ) -> std::io::Result<(Self, Option<oneshot::Receiver<()>>)> {
        if observers.is_empty() {
            return Ok((Self::none(), None));
        }
        let waiting = Arc::new(AtomicUsize::new(0));
        let (sender, events) = mpsc::channel::<Event>();
        let (ending, ended) = oneshot::channel();
        let counted = Arc::clone(&waiting);
        std::thread::Builder::new().name("inbox-observer".to_owned()).spawn(move || {
            for event in events {
                counted.fetch_sub(1, Ordering::Relaxed);
                for observer in &observers {
                    tell(&**observer, &event);
                }
            }
            // Nobody may wait.
            let _ = ending.send(());
        })?;
        Ok((Self { sender: Some(sender), waiting }, Some(ended)))
    }

    /// Tells them about deliveries; `event` is made only if there is someone to tell.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if self.sender.is_some() && self.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            self.tell_surely(event());
        }
    }

    /// Tells them, however many events wait.
    pub(crate) fn tell_surely(&self, event: Event) {
        if let Some(sender) = &self.sender {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            // Their thread ends only after this value.
            let _ = sender.send(event);
        }
    }
}

/// Waits for the observers' thread, for a while.
pub(crate) async fn ended(thread: Option<oneshot::Receiver<()>>) {
    if let Some(ended) = thread
        && tokio::time::timeout(Duration::from_secs(1), ended).await.is_err()
    {
        tracing::warn!("an observer has not finished: the host does not wait for it any longer");
    }
}

fn tell(observer: &dyn Observer, event: &Event) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer.notice(event))) {
        // Dropping what a panic carries may panic again.
        std::mem::forget(panic);
        tracing::warn!(?event, "an observer panicked");
    }
}
