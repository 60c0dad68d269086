use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use inbox::postgres::Transaction;
use inbox::store::Store;
use inbox::{HostHandle, Inbox, State, handler};
use tokio::sync::Notify;

use crate::contract::{Command, HANDLER};
use crate::drain::Drain;
use crate::lane::Lanes;
use crate::measure::{Measure, per_second};
use crate::place::Place;
use crate::recovery::Recovered;
use crate::report::Report;
use crate::side::Side;
use crate::warm;

/// What the handler was called for: how often and, if someone wants to know, when for which.
#[derive(Clone)]
pub(crate) struct Calls {
    inner: Arc<Inner>,
    pub(crate) lanes: Arc<Lanes>,
}

struct Inner {
    enough: usize,
    count: AtomicUsize,
    is_enough: Notify,
    times: Option<Mutex<Vec<(usize, Instant)>>>,
}

impl Calls {
    fn new(enough: usize, times: Option<Mutex<Vec<(usize, Instant)>>>) -> Self {
        let (count, is_enough) = (AtomicUsize::new(0), Notify::new());
        let inner = Arc::new(Inner { enough, count, is_enough, times });
        Self { inner, lanes: Arc::default() }
    }

    /// Of handlers whose commands are in these lanes.
    pub(crate) fn in_lanes(self, lanes: Lanes) -> Self {
        Self { lanes: Arc::new(lanes), ..self }
    }

    /// Counts until there are enough.
    pub(crate) fn counted(enough: usize) -> Self {
        Self::new(enough, None)
    }

    /// The same, and notes when each was.
    pub(crate) fn timed(enough: usize) -> Self {
        Self::new(enough, Some(Mutex::default()))
    }

    /// Of a handler that was called.
    pub(crate) fn note(&self, number: usize) {
        let Inner { enough, count, is_enough, times } = &*self.inner;
        if let Some(times) = times {
            let time = (number, Instant::now());
            times.lock().unwrap_or_else(PoisonError::into_inner).push(time);
        }
        if count.fetch_add(1, Ordering::Relaxed) + 1 == *enough {
            is_enough.notify_one();
        }
    }

    pub(crate) async fn are_enough(&self) {
        self.inner.is_enough.notified().await;
    }

    /// When each command was handled.
    pub(crate) fn times(&self) -> Vec<(usize, Instant)> {
        let times = self.inner.times.iter();
        times
            .flat_map(|times| times.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect()
    }
}

#[handler(key = "bench")]
async fn nothing(command: Command, State(calls): State<Calls>) {
    calls.note(command.number);
}

/// A host with nothing said about it, for these handlers: the others are of other measurements.
pub(crate) async fn build<S: Store + Clone>(
    store: &S,
    handlers: &[&str],
    calls: &Calls,
) -> Result<Inbox<S>> {
    let builder = Inbox::builder(store.clone()).only_handlers(handlers.iter().copied());
    // Every handler of this program is checked, also those that do not run; not every store has transactions.
    let builder = builder.lends::<Transaction>();
    Ok(builder.state(calls.clone()).state(Recovered::none()).build().await?)
}

/// Works off what is stored, and answers how long it took.
pub(crate) async fn work_off<S: Store>(inbox: &Inbox<S>, calls: &Calls) -> Result<Duration> {
    let began = Instant::now();
    let host = inbox.start()?;
    calls.are_enough().await;
    end(host).await?;
    Ok(began.elapsed())
}

/// Ends it, and everything it was at with it.
pub(crate) async fn end(host: HostHandle) -> Result<()> {
    let report = host.shutdown(Duration::from_secs(30)).await;
    ensure!(report.released + report.left == 0, "the host left something behind: {report:?}");
    Ok(())
}

/// A host as it comes, on a handler that does nothing, beside two workers in raw SQL.
pub(crate) async fn drain(place: &Place, round: usize, report: &mut Report) -> Result<()> {
    const COUNT: usize = 100_000;
    const MEASURE: Measure = Measure::rate("drain, a host as it comes");
    for side in place.sides(round) {
        place.clear().await?;
        let took = match &**side {
            Side::Inbox(ours) => {
                warm::work(side).await?;
                let before = place.done().await?;
                place.fill(COUNT).await?;
                let calls = Calls::counted(COUNT);
                let inbox = build(ours.store(), &[HANDLER], &calls).await?;
                let took = work_off(&inbox, &calls).await?;
                let done = place.done().await? - before;
                ensure!(done == i64::try_from(COUNT)?, "{done} of {COUNT} are done");
                took
            }
            Side::Raw(_) => Drain::of(place, side, COUNT).await?.until(COUNT),
        };
        report.add(MEASURE, side, per_second(COUNT, took));
    }
    Ok(())
}
