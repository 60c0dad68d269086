//! The database's clock decides, however wrong that of a worker is.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod reach;

use std::time::Duration;

use inbox::postgres::PostgresStore;
use inbox::schedule::ScheduleOptions;
use inbox::store::{DeliveryState, LeaseRequest, LeaseStore as _, Now, Terms, Wanted};
use inbox::{Context, Inbox, Timestamp, handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use reach::Reach as _;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay;

#[handler(key = "pay", max_attempts = 2, retry(initial = "1h"))]
async fn pay(_command: Pay, context: Context) -> Result<(), String> {
    if context.attempt() == 1 { Err("not yet".to_owned()) } else { Ok(()) }
}

/// A server whose clock differs from this process's by so much: seen from there, it is the worker whose
/// clock is wrong. The time can be moved on.
struct Server(PostgresDatabase);

impl Server {
    async fn with_clock(offset: &str) -> Self {
        let server = Self(PostgresDatabase::create().await.unwrap());
        let database = server.0.connect().await.unwrap();
        let name = server.0.to_string();
        // Names are looked up in this order, so ours hides the one of PostgreSQL.
        let shadow = format!(
            "CREATE SCHEMA skew;
             CREATE TABLE skew.offset_by (by interval);
             CREATE FUNCTION skew.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
                 'SELECT pg_catalog.clock_timestamp() + by FROM skew.offset_by';
             ALTER DATABASE {name} SET search_path = skew, pg_catalog"
        );
        database.batch_execute(&shadow).await.unwrap();
        database
            .batch_execute(&format!("INSERT INTO skew.offset_by VALUES ('{offset}')"))
            .await
            .unwrap();
        server
    }

    async fn pass(&self, time: &str) {
        let sql = format!("UPDATE skew.offset_by SET by = by + interval '{time}'");
        self.0.connect().await.unwrap().batch_execute(&sql).await.unwrap();
    }

    async fn now(&self) -> Timestamp {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let client = self.0.connect().await.unwrap();
        Timestamp::from_micros(client.query_one(sql, &[]).await.unwrap().get(0))
    }

    async fn inbox(&self) -> Inbox<PostgresStore> {
        let options = reach::options().connections(2).ensure_schema();
        let store = options.open_on(&self.0).await.unwrap();
        Inbox::builder(store).build().await.unwrap()
    }
}

/// Fast, slow and right, each by an hour.
const CLOCKS: [&str; 3] = ["1 hour", "-1 hour", "0"];

#[tokio::test]
async fn delays_retries_and_leases_go_by_the_databases_clock() {
    for offset in CLOCKS {
        let server = Server::with_clock(offset).await;
        let inbox = server.inbox().await;
        let options = ScheduleOptions::new().delay(Duration::from_mins(10));
        let receipt = inbox.scheduler().schedule(Pay, options).await.unwrap();
        let distance = server.now().await.as_micros() - receipt.accepted_at().as_micros();
        assert!((0..600_000_000).contains(&distance), "{offset}: accepted {distance} µs ago");
        assert_eq!(inbox.process_pending().await.unwrap().leased, 0, "{offset}: too early");
        server.pass("10 minutes").await;
        assert_eq!(
            inbox.process_pending().await.unwrap().retried,
            1,
            "{offset}: due, and it fails"
        );
        assert_eq!(inbox.process_pending().await.unwrap().leased, 0, "{offset}: not again yet");
        server.pass("2 hours").await;
        assert_eq!(inbox.process_pending().await.unwrap().completed, 1, "{offset}");
        let status = inbox.status(receipt.message_id()).await.unwrap().unwrap();
        assert_eq!(status.deliveries[0].state, DeliveryState::Completed);
    }
}

#[tokio::test]
async fn a_lease_expires_by_the_databases_clock() {
    for offset in CLOCKS {
        let server = Server::with_clock(offset).await;
        let inbox = server.inbox().await;
        inbox.scheduler().schedule(Pay, ScheduleOptions::new()).await.unwrap();
        let wanted = Wanted {
            handler_key: "pay".to_owned(),
            versions: vec![1],
            limit: std::num::NonZeroU32::MIN,
            max_crashes: std::num::NonZeroU32::MIN.saturating_add(2),
            terms: Terms::default(),
        };
        let (host, duration) = ("gone".to_owned(), Duration::from_mins(10));
        let request = LeaseRequest::new(host, duration, vec![wanted]);
        let held = inbox.store().lease(request, Now::OfStore).await.unwrap();
        assert_eq!(held.len(), 1, "{offset}");
        assert_eq!(inbox.process_pending().await.unwrap().leased, 0, "{offset}: it is held");
        let renewed = inbox.store().renew(vec![held[0].token], duration, Now::OfStore).await;
        assert!(renewed.unwrap()[0].is_ok(), "{offset}: it has not expired");
        server.pass("10 minutes").await;
        assert_eq!(inbox.process_pending().await.unwrap().leased, 1, "{offset}: it came back");
    }
}

#[tokio::test]
async fn a_message_is_too_late_by_the_databases_clock() {
    for offset in CLOCKS {
        let server = Server::with_clock(offset).await;
        let inbox = server.inbox().await;
        let now = server.now().await;
        let late = now.saturating_add(Duration::from_mins(1));
        let in_time = now.saturating_add(Duration::from_mins(100));
        for deliver_by in [late, in_time] {
            let options = ScheduleOptions::new().deliver_by(deliver_by);
            inbox.scheduler().schedule(Pay, options).await.unwrap();
        }
        server.pass("10 minutes").await;
        let report = inbox.process_pending().await.unwrap();
        assert_eq!((report.expired, report.retried), (1, 1), "{offset}");
    }
}
