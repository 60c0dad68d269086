//! What every store promises when it accepts, kept by the function that other clients call.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::{Priority, Start};
use inbox_core::store::{
    Accepted, Cancelled, DeliveryCount, DeliveryFilter, DeliveryState, Inspect, KnownRoute, Lease,
    LeaseLost, LeaseRequest, LeaseStore, LeaseToken, Maintain, MessageRecord, Page, Reclaimed,
    Renewed, Route, Settle, StateStore, Store, StoreError, StoreErrorKind, StoreFuture, Writer,
};
use inbox_core::{Now, Timestamp};
use inbox_postgres::tokio_postgres::Client;
use inbox_postgres::tokio_postgres::error::SqlState;
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::conformance::TestDatabase;
use inbox_testing::postgres::PostgresDatabase;
use tokio::sync::Mutex;

const SCHEDULE: &str = "SELECT message_id::text, accepted_at::text, is_new FROM inbox.schedule(
    $1, $2, $3::text::jsonb, $4, $5, $6, $7::text::timestamptz, $8::text::interval,
    $9::text::timestamptz, $10, $11, $12, $13, $14::text::jsonb, $15::text::uuid,
    $16::text::timestamptz)";

/// A store whose messages come in through SQL.
struct FromSql {
    store: PostgresStore,
    client: Mutex<Client>,
}

impl FromSql {
    async fn schedule(
        &self,
        envelopes: &[Envelope],
        now: Now,
    ) -> Result<Vec<Accepted>, StoreError> {
        let mut client = self.client.lock().await;
        let transaction = client.transaction().await.map_err(refused)?;
        let clock = match now {
            Now::OfStore => None,
            Now::At(moment) => Some(written(moment)),
        };
        let mut ids = Vec::new();
        for envelope in envelopes {
            let message = &envelope.message;
            let word = match envelope.priority {
                Priority::Low => "low",
                Priority::Normal => "normal",
                Priority::High => "high",
                Priority::Urgent => "urgent",
            };
            let (at, after) = match envelope.start {
                Start::Immediately => (None, None),
                Start::At(moment) => (Some(written(moment)), None),
                // Longer ones are beyond any interval.
                Start::After(delay) => {
                    let longest = Duration::from_hours(200_000 * 365 * 24);
                    (None, Some(format!("{} microseconds", delay.min(longest).as_micros())))
                }
            };
            let headers: serde_json::Map<_, _> = message
                .headers
                .iter()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect();
            let row = transaction
                .query_one(
                    SCHEDULE,
                    &[
                        &message.contract,
                        &i32::try_from(message.version).unwrap_or(i32::MAX),
                        &String::from_utf8_lossy(message.payload.as_bytes()).as_ref(),
                        &message.idempotency_key,
                        &message.ordering_key,
                        &message.concurrency_key,
                        &at,
                        &after,
                        &message.deliver_by.map(written),
                        &word,
                        &message.correlation_id,
                        &message.causation_id,
                        &message.tenant,
                        &serde_json::Value::Object(headers).to_string(),
                        &message.id.to_string(),
                        &clock,
                    ],
                )
                .await
                .map_err(refused)?;
            ids.push((row.get::<_, String>(0).parse::<MessageId>(), row.get::<_, bool>(2)));
        }
        transaction.commit().await.map_err(refused)?;
        let mut answers = Vec::new();
        for (id, is_new) in ids {
            let id =
                id.map_err(|error| StoreError::new(StoreErrorKind::Corrupt, error.to_string()))?;
            let Some(record) = self.store.show(id).await? else {
                return Err(StoreError::new(StoreErrorKind::Other, "it is not there"));
            };
            let stored = record.stored;
            answers.push(match is_new {
                true => Accepted::New { accepted_at: stored.accepted_at },
                false => Accepted::Before(Box::new(stored)),
            });
        }
        Ok(answers)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn refused(error: inbox_postgres::tokio_postgres::Error) -> StoreError {
    // Two transactions with the same keys in opposite orders: a caller begins again.
    let kind = match error.code() {
        Some(&SqlState::T_R_DEADLOCK_DETECTED) => StoreErrorKind::Busy,
        _ => StoreErrorKind::Other,
    };
    StoreError::new(kind, format!("the database refused: {error:?}"))
}

/// A moment as SQL writes it. What is beyond its calendar is at the ends of that.
fn written(moment: Timestamp) -> String {
    match moment.as_micros() {
        i64::MIN => "4000-01-01 BC".to_owned(),
        i64::MAX => "200000-01-01".to_owned(),
        _ => moment.to_string(),
    }
}

impl Writer for FromSql {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        Box::pin(async move { self.schedule(&envelopes, now).await })
    }
}

impl LeaseStore for FromSql {
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

impl StateStore for FromSql {
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

impl Inspect for FromSql {
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

impl Maintain for FromSql {
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
}

impl TestDatabase for OnServer {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async {
            let options = PostgresOptions::new().connections(2).ensure_schema();
            let store = options.open_config(self.0.config().clone()).await;
            match (store, self.0.connect().await) {
                (Ok(store), Ok(client)) => {
                    Arc::new(FromSql { store, client: Mutex::new(client) }) as Arc<dyn Store>
                }
                (Err(error), _) => panic!("{error}"),
                (_, Err(error)) => panic!("{error}"),
            }
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
