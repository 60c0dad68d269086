use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::news::{News, Next};
use crate::PostgresStore;
use crate::sql::Sql;
use crate::time_limit::answer_within;

/// How long to try to tell others: what takes longer than their workers take to ask is of no use.
const LIMIT: Duration = Duration::from_secs(5);

/// Tells other processes that something may be ready, never on the path of a caller: to send a
/// notification is a transaction of its own, and all of them in a server take their turn. So the first
/// is sent at once, and those that follow are sent together.
pub(crate) struct Notifier {
    /// None where others only ask.
    channel: Option<String>,
    news: Mutex<News>,
    /// Whoever waits for the next repetition hears of fresh news.
    hurry: Notify,
}

impl Notifier {
    pub(crate) fn new(channel: Option<String>) -> Self {
        Self { channel, news: Mutex::default(), hurry: Notify::new() }
    }

    fn news(&self) -> MutexGuard<'_, News> {
        // Nothing is half-done when a holder panics.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresStore {
    /// Tells workers of this process that something may be ready.
    pub(crate) fn ring_here(&self) {
        self.inner().bell.ring();
    }

    /// Tells workers here in a moment: what could not be decided about may be then.
    pub(crate) fn ring_soon(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (bell, closing) = (self.inner().bell.clone(), self.inner().closing.clone());
        let ringing = async move {
            let moment = tokio::time::sleep(Duration::from_millis(10));
            if closing.run_until_cancelled(moment).await.is_some() {
                bell.ring();
            }
        };
        self.inner().tasks.spawn_on(ringing, &runtime);
    }

    /// Tells all workers that something was committed.
    pub(crate) fn ring_everywhere(&self) {
        self.ring_here();
        let notifier = &self.inner().notifier;
        if notifier.channel.is_some() && notifier.news().add() {
            self.tell();
        }
    }

    /// Tells workers here that someone has a turn, and the others in a while: who settled the one before has
    /// room for it.
    pub(crate) fn ring_here_first(&self) {
        self.ring_here();
        let notifier = &self.inner().notifier;
        if notifier.channel.is_some() && notifier.news().hand_on(Instant::now()) {
            self.tell();
        }
    }

    /// Tells all workers, again and again for a while: when the caller commits is not known here.
    pub(crate) fn ring_until_committed(&self) {
        self.inner().notifier.news().expect(Instant::now());
        self.tell();
    }

    /// Sees to it that news is told.
    fn tell(&self) {
        let (inner, runtime) = (self.inner(), tokio::runtime::Handle::try_current());
        // Without a runtime nobody can: workers ask now and then.
        let Ok(runtime) = runtime else { return };
        if inner.closing.is_cancelled() {
            return;
        }
        // Not within the match: a runtime that ends drops what it is given, which needs the lock.
        let is_first = inner.notifier.news().watch();
        match is_first {
            true => {
                let telling = Telling { store: self.clone(), has_ended: false };
                inner.tasks.spawn_on(telling.run(), &runtime);
            }
            false => inner.notifier.hurry.notify_one(),
        }
    }
}

/// One who tells all there is, and ends.
struct Telling {
    store: PostgresStore,
    has_ended: bool,
}

impl Telling {
    async fn run(mut self) {
        let store = self.store.clone();
        let inner = store.inner();
        loop {
            match self.next() {
                Next::Tell { is_repeated } => {
                    if is_repeated {
                        store.ring_here();
                    }
                    store.notify().await;
                }
                Next::Wait(until) => {
                    let hurry = timeout_at(until, inner.notifier.hurry.notified());
                    let _ = inner.closing.run_until_cancelled(hurry).await;
                }
                Next::Nothing => return,
            }
        }
    }

    /// Whoever has news and finds that someone asks is right: both are settled under one lock.
    fn next(&mut self) -> Next {
        let inner = self.store.inner();
        let mut news = inner.notifier.news();
        let next = match inner.closing.is_cancelled() {
            true => news.last(),
            false => news.next(Instant::now()),
        };
        self.has_ended = next == Next::Nothing;
        next
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        // Its runtime has ended; that of the next caller may not have.
        if !self.has_ended {
            self.store.inner().notifier.news().abandon();
        }
    }
}

impl PostgresStore {
    async fn notify(&self) {
        let Some(channel) = &self.inner().notifier.channel else { return };
        let limit = LIMIT.min(self.call_timeout());
        if let Err(error) = answer_within(limit, self.query(Sql::notify, &[channel])).await {
            tracing::debug!(%error, "could not tell other processes: they will look by themselves");
        }
    }
}
