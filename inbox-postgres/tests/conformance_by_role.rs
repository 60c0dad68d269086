//! What every store promises, kept where each verb is done by a role that may do no more.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::Start;
use inbox_core::store::{
    Accepted, Cancelled, DeadDelivery, DeliveryCount, DeliveryFilter, DeliveryState, HostRecord,
    Inspect, KnownRoute, Lane, LaneFilter, LaneRecord, Lease, LeaseLost, LeaseRequest, LeaseStore,
    LeaseToken, Maintain, MessageRecord, OrphanTerms, Page, Reclaimed, Renewed, Route, RouteRecord,
    Served, Settle, StateStore, Store, StoreFuture, Writer,
};
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::conformance::TestDatabase;
use inbox_testing::postgres::PostgresDatabase;

/// A writer schedules, a worker works, an operator looks and acts.
struct ByRole {
    writer: PostgresStore,
    worker: PostgresStore,
    operator: PostgresStore,
}

impl Writer for ByRole {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        self.writer.accept(envelopes, now)
    }
}

impl LeaseStore for ByRole {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        self.worker.lease(request, now)
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        self.worker.renew(tokens, duration, now)
    }
}

impl StateStore for ByRole {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        self.worker.settle(settles, now)
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        self.worker.release(tokens, now)
    }
}

impl Inspect for ByRole {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        self.operator.show(id)
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        self.operator.list(filter)
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        self.operator.counts()
    }

    fn retry(&self, id: MessageId, key: &str, now: Now) -> StoreFuture<'_, bool> {
        self.operator.retry(id, key, now)
    }

    fn cancel(&self, id: MessageId, key: Option<&str>, now: Now) -> StoreFuture<'_, Cancelled> {
        self.operator.cancel(id, key, now)
    }

    fn reschedule(
        &self,
        id: MessageId,
        key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        self.operator.reschedule(id, key, start, now)
    }

    fn lanes(&self, filter: LaneFilter) -> StoreFuture<'_, Vec<LaneRecord>> {
        self.operator.lanes(filter)
    }

    fn unblock(&self, lane: &Lane, now: Now) -> StoreFuture<'_, bool> {
        self.operator.unblock(lane, now)
    }

    fn routes(&self, alive_for: Duration, now: Now) -> StoreFuture<'_, Vec<RouteRecord>> {
        self.operator.routes(alive_for, now)
    }

    fn retire(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.operator.retire(contract, key, now)
    }

    fn restore(&self, contract: &str, key: &str, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.operator.restore(contract, key, now)
    }

    fn hosts(&self) -> StoreFuture<'_, Vec<HostRecord>> {
        self.operator.hosts()
    }
}

impl Maintain for ByRole {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.worker.register_routes(routes, now)
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.worker.route(limit, now)
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.worker.promote(limit, now)
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        self.worker.next_due(now)
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.worker.reclaim(limit, now)
    }

    fn mend(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.worker.mend(limit, now)
    }

    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()> {
        self.worker.announce(host, serves, now)
    }

    fn leave(&self, host: &str) -> StoreFuture<'_, ()> {
        self.worker.leave(host)
    }

    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>> {
        self.worker.give_up_orphans(terms, limit, now)
    }
}

struct OnServer(PostgresDatabase);

impl OnServer {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let options = PostgresOptions::new();
        options.clone().migrate_config(database.config().clone()).await.unwrap();
        let client = database.connect().await.unwrap();
        client.batch_execute(&options.roles_sql().unwrap()).await.unwrap();
        Self(database)
    }

    async fn member_of(&self, role: &str) -> PostgresStore {
        let mut config = self.0.config().clone();
        config.options(format!("-c role={role}"));
        reach::options().connections(2).open_config(config).await.unwrap()
    }
}

impl TestDatabase for OnServer {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async {
            Arc::new(ByRole {
                writer: self.member_of("inbox_writer").await,
                worker: self.member_of("inbox_worker").await,
                operator: self.member_of("inbox_operator").await,
            }) as Arc<dyn Store>
        })
    }
}

/// Every verb but `wake`, which is about one process.
macro_rules! by_role {
    (wake { $($case:ident)* } $($others:tt)*) => {
        by_role! { $($others)* }
    };
    ($verb:ident { $($case:ident)* } $($others:tt)*) => {
        mod $verb {
            $(#[test]
            fn $case() {
                inbox_testing::conformance::run(
                    super::OnServer::new(),
                    inbox_testing::conformance::$verb::$case,
                );
            })*
        }
        by_role! { $($others)* }
    };
    () => {};
}

inbox_testing::__conformance_cases!(by_role);
