use std::time::Instant;

use anyhow::{Result, ensure};
use inbox::store::Store;
use inbox::{Contract, Inbox, ScheduleOptions};

use crate::contract::{Command, HANDLER, Limited, Shared, Step};
use crate::host::{self, Calls};
use crate::lane::{self, Lanes};
use crate::limit;
use crate::measure::per_second;
use crate::place::Place;

/// Messages in one drain.
pub(crate) const COUNT: usize = 20_000;

/// So many are worked off before the clock runs, so that the statements are planned.
const WARM: usize = 2_000;

/// What a host has to do: messages of one handler, made from their numbers.
pub(crate) struct Work<C> {
    handler: &'static str,
    lanes: usize,
    make: Box<dyn Fn(usize) -> (C, ScheduleOptions) + Send + Sync>,
}

/// Nothing keeps one from running beside the other.
pub(crate) fn keyless() -> Work<Command> {
    Work::new(HANDLER, |number| (Command::new(number), ScheduleOptions::new()))
}

/// In so many lanes in turn.
pub(crate) fn in_lanes(lanes: usize) -> Work<Step> {
    let work = Work::new(lane::HANDLER, move |number| {
        let (lane, number) = (number % lanes, number / lanes);
        let options = ScheduleOptions::new().ordering_key(format!("lane-{lane}"));
        (Step { lane: Some(lane), number }, options)
    });
    Work { lanes, ..work }
}

/// For a handler of which only so many run at once in the whole fleet.
pub(crate) fn shared() -> Work<Shared> {
    Work::new(limit::SHARED, |number| (Shared { number }, ScheduleOptions::new()))
}

/// For a handler of which one runs at once for each of so many concurrency keys.
pub(crate) fn limited(keys: usize) -> Work<Limited> {
    Work::new(limit::LIMITED, move |number| {
        (Limited { key: number % keys, number }, ScheduleOptions::new())
    })
}

impl<C: Contract> Work<C> {
    fn new(
        handler: &'static str,
        make: impl Fn(usize) -> (C, ScheduleOptions) + Send + Sync + 'static,
    ) -> Self {
        Self { handler, lanes: 0, make: Box::new(make) }
    }

    /// How many are worked off in a second, on PostgreSQL.
    pub(crate) async fn rate_on(&self, place: &Place) -> Result<f64> {
        place.clear().await?;
        let store = place.ours()?.store();
        self.warm(store).await?;
        let before = place.done().await?;
        let rate = self.rate(store, COUNT).await?;
        let done = place.done().await? - before;
        ensure!(done == i64::try_from(COUNT)?, "{done} of {COUNT} are done");
        Ok(rate)
    }

    pub(crate) async fn warm<S: Store + Clone>(&self, store: &S) -> Result<()> {
        self.rate(store, WARM).await?;
        Ok(())
    }

    /// How many are worked off in a second.
    pub(crate) async fn rate<S: Store + Clone>(&self, store: &S, count: usize) -> Result<f64> {
        let calls = Calls::counted(count).in_lanes(Lanes::new(self.lanes));
        let inbox = host::build(store, &[self.handler], &calls).await?;
        self.fill(&inbox, count).await?;
        let took = host::work_off(&inbox, &calls).await?;
        calls.lanes.check()?;
        Ok(per_second(count, took))
    }

    /// When each was worked off, in that order.
    pub(crate) async fn times<S: Store + Clone>(
        &self,
        store: &S,
        count: usize,
    ) -> Result<Vec<Instant>> {
        let calls = Calls::timed(count).in_lanes(Lanes::new(self.lanes));
        let inbox = host::build(store, &[self.handler], &calls).await?;
        self.fill(&inbox, count).await?;
        host::work_off(&inbox, &calls).await?;
        calls.lanes.check()?;
        let mut times: Vec<_> = calls.times().into_iter().map(|(_, at)| at).collect();
        times.sort_unstable();
        Ok(times)
    }

    pub(crate) async fn fill<S: Store>(&self, inbox: &Inbox<S>, count: usize) -> Result<()> {
        const AT_ONCE: usize = 5_000;
        for first in (0..count).step_by(AT_ONCE) {
            let numbers = first..count.min(first + AT_ONCE);
            let messages: Vec<_> = numbers.map(&self.make).collect();
            for receipt in inbox.scheduler().schedule_all(messages).await? {
                receipt?;
            }
        }
        Ok(())
    }
}
