use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::settle::{DoneOutcome, Settlement};
use inbox::store::{
    Lease, LeaseRequest, LeaseStore as _, Maintain as _, Now, OnDead, Route, Settle,
    StateStore as _, Terms, Wanted,
};
use inbox::{ScheduleOptions, Scheduler};

use crate::contract::{Command, HANDLER};
use crate::side::{BATCH, TASKS};

/// The library, as programs call it to schedule and as its host calls the store.
pub(crate) struct Ours {
    store: Arc<PostgresStore>,
    scheduler: Scheduler<PostgresStore>,
    request: LeaseRequest,
}

impl Ours {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let options = PostgresOptions::new().ensure_schema().connections(TASKS);
        let store = Arc::new(options.open(url).await?);
        let route = Route {
            contract: "bench".to_owned(),
            handler_key: HANDLER.to_owned(),
            supersedes: Vec::new(),
            context: String::new(),
            on_dead: OnDead::Block,
        };
        store.register_routes(vec![route], Now::OfStore).await?;
        let limit = NonZeroU32::MIN.saturating_add(BATCH - 1);
        let wanted = Wanted {
            handler_key: HANDLER.to_owned(),
            versions: vec![1],
            limit,
            max_crashes: limit,
            terms: Terms::default(),
        };
        let duration = Duration::from_mins(1);
        let request = LeaseRequest::new("bench", duration, vec![wanted]);
        Ok(Self { scheduler: Scheduler::new(Arc::clone(&store)), store, request })
    }

    pub(crate) fn store(&self) -> &PostgresStore {
        &self.store
    }

    pub(crate) async fn schedule(&self, command: Command) -> Result<()> {
        self.scheduler.schedule(command, ScheduleOptions::new()).await?;
        Ok(())
    }

    pub(crate) async fn schedule_all(&self, commands: Vec<Command>) -> Result<()> {
        let commands = commands.into_iter().map(|command| (command, ScheduleOptions::new()));
        for answer in self.scheduler.schedule_all(commands.collect::<Vec<_>>()).await? {
            answer?;
        }
        Ok(())
    }

    pub(crate) async fn lease(&self) -> Result<Vec<Lease>> {
        Ok(self.store.lease(self.request.clone(), Now::OfStore).await?)
    }

    /// Leases so many deliveries and forgets them, as a worker does that is killed. Answers when the last of
    /// their leases expires.
    pub(crate) async fn vanish(
        &self,
        handler_key: &str,
        count: usize,
        duration: Duration,
    ) -> Result<Instant> {
        let mut request = LeaseRequest { duration, ..self.request.clone() };
        for wanted in &mut request.wanted {
            handler_key.clone_into(&mut wanted.handler_key);
        }
        let mut held = 0;
        while held < count {
            let leases = self.store.lease(request.clone(), Now::OfStore).await?;
            let count_of = |lease: &Lease| lease.deliveries.len();
            let taken: usize = leases.iter().map(count_of).sum();
            ensure!(taken > 0, "{held} of {count} could be leased");
            held += taken;
        }
        Ok(Instant::now() + duration)
    }

    pub(crate) async fn settle(&self, leases: &[Lease]) -> Result<()> {
        let settles = leases.iter().flat_map(|lease| {
            let done = Settlement::Done(DoneOutcome::Completed);
            lease.deliveries.iter().map(move |one| Settle::new(lease.token, one, done.clone()))
        });
        for answer in self.store.settle(settles.collect(), Now::OfStore).await? {
            answer?;
        }
        Ok(())
    }
}
