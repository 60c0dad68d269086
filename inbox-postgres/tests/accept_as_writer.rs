//! What every store promises when it accepts, kept by one whose role may only call the functions.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::Now;
use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::Start;
use inbox_core::store::{
    Accepted, Cancelled, DeliveryCount, DeliveryFilter, DeliveryState, Inspect, KnownRoute, Lease,
    LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Maintain, MessageRecord, Page, Reclaimed,
    Renewed, Route, Settle, StateStore, Store, StoreFuture, Writer,
};
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::conformance::TestDatabase;
use inbox_testing::postgres::PostgresDatabase;

/// A store whose messages come in through a role that may only call functions.
struct AsWriter {
    store: PostgresStore,
    writer: PostgresStore,
}

impl Writer for AsWriter {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        self.writer.accept(envelopes, now)
    }
}

impl LeaseStore for AsWriter {
    fn lease(&self, request: LeaseRequest, now: Now) -> StoreFuture<'_, Vec<Lease>> {
        self.store.lease(request, now)
    }

    fn renew(
        &self,
        tokens: Vec<LeaseToken>,
        duration: Duration,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<Renewed, LeaseLost>>> {
        self.store.renew(tokens, duration, now)
    }
}

impl StateStore for AsWriter {
    fn settle(
        &self,
        settles: Vec<Settle>,
        now: Now,
    ) -> StoreFuture<'_, Vec<Result<DeliveryState, LeaseLost>>> {
        self.store.settle(settles, now)
    }

    fn release(&self, tokens: Vec<LeaseToken>, now: Now) -> StoreFuture<'_, u64> {
        self.store.release(tokens, now)
    }
}

impl Inspect for AsWriter {
    fn show(&self, id: MessageId) -> StoreFuture<'_, Option<MessageRecord>> {
        self.store.show(id)
    }

    fn list(&self, filter: DeliveryFilter) -> StoreFuture<'_, Page> {
        self.store.list(filter)
    }

    fn counts(&self) -> StoreFuture<'_, Vec<DeliveryCount>> {
        self.store.counts()
    }

    fn retry(&self, id: MessageId, key: &str, now: Now) -> StoreFuture<'_, bool> {
        self.store.retry(id, key, now)
    }

    fn cancel(&self, id: MessageId, key: Option<&str>, now: Now) -> StoreFuture<'_, Cancelled> {
        self.store.cancel(id, key, now)
    }

    fn reschedule(
        &self,
        id: MessageId,
        key: Option<&str>,
        start: Start,
        now: Now,
    ) -> StoreFuture<'_, u64> {
        self.store.reschedule(id, key, start, now)
    }
}

impl Maintain for AsWriter {
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>> {
        self.store.register_routes(routes, now)
    }

    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.store.route(limit, now)
    }

    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64> {
        self.store.promote(limit, now)
    }

    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>> {
        self.store.next_due(now)
    }

    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed> {
        self.store.reclaim(limit, now)
    }
}

struct OnServer(PostgresDatabase);

impl OnServer {
    async fn new() -> Self {
        match PostgresDatabase::create().await {
            Ok(database) => Self(database),
            Err(error) => panic!("{error}"),
        }
    }

    async fn owner(&self) -> PostgresStore {
        let options = PostgresOptions::new().connections(2).ensure_schema();
        options.open_config(self.0.config().clone()).await.unwrap()
    }

    async fn writer(&self) -> PostgresStore {
        let client = self.0.connect().await.unwrap();
        let roles = PostgresOptions::new().roles_sql().unwrap();
        client.batch_execute(&roles).await.unwrap();
        let mut config = self.0.config().clone();
        config.options("-c role=inbox_writer");
        PostgresOptions::new().connections(2).open_config(config).await.unwrap()
    }
}

impl TestDatabase for OnServer {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async {
            let (store, writer) = (self.owner().await, self.writer().await);
            Arc::new(AsWriter { store, writer }) as Arc<dyn Store>
        })
    }
}

/// The cases of `accept` alone: the other verbs are the store's own.
macro_rules! accepting {
    (accept { $($case:ident)* } $($others:tt)*) => {
        $(#[test]
        fn $case() {
            inbox_testing::conformance::run(
                OnServer::new(),
                inbox_testing::conformance::accept::$case,
            );
        })*
    };
}

inbox_testing::__conformance_cases!(accepting);
