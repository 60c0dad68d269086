//! What the tests are written with.

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::{AsyncMessage, Client, NoTls, Notification};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::schedule::{ScheduleOptions, Scheduler};
use inbox::store::{
    BellListener, Lease, LeaseRequest, LeaseStore as _, LeaseToken, Maintain as _, Now, Route,
    Wanted,
};
use inbox::{Timestamp, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// How long something may take that happens at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long leases hold.
pub(crate) const HOLD: Duration = Duration::from_mins(5);

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
pub(crate) struct Pay {
    pub(crate) id: u64,
}

/// A store with one connection, and a route for what is scheduled.
pub(crate) async fn open(database: &PostgresDatabase, options: PostgresOptions) -> PostgresStore {
    let options = options.connections(1).ensure_schema();
    let store = options.open_config(database.config().clone()).await.unwrap();
    routed(&store).await;
    store
}

/// The application's pool, of one connection, without TLS.
pub(crate) fn pool(database: &PostgresDatabase) -> Pool {
    let manager = Manager::new(database.config().clone(), NoTls);
    Pool::builder(manager).max_size(1).build().unwrap()
}

pub(crate) async fn routed(store: &PostgresStore) {
    let (contract, handler_key) = ("pay".to_owned(), "charge".to_owned());
    let route = Route { contract, handler_key, supersedes: Vec::new(), context: String::new() };
    store.register_routes(vec![route], Now::OfStore).await.unwrap();
}

pub(crate) fn scheduler(store: &PostgresStore) -> Scheduler<PostgresStore> {
    Scheduler::new(Arc::new(store.clone()))
}

pub(crate) async fn schedule(store: &PostgresStore, id: u64) {
    scheduler(store).schedule(Pay { id }, ScheduleOptions::new()).await.unwrap();
}

/// All that is ready.
pub(crate) async fn lease(store: &PostgresStore) -> Vec<Lease> {
    let wanted = Wanted {
        handler_key: "charge".to_owned(),
        versions: vec![1],
        limit: NonZeroU32::MAX,
        max_attempts: NonZeroU32::MIN,
    };
    let (host, duration) = ("host".to_owned(), HOLD);
    let request = LeaseRequest { host, duration, wanted: vec![wanted] };
    store.lease(request, Now::OfStore).await.unwrap()
}

/// The token of the one thing that is ready, held now.
pub(crate) async fn held(store: &PostgresStore) -> LeaseToken {
    schedule(store, 1).await;
    let leases = lease(store).await;
    assert_eq!(leases.len(), 1, "{leases:?}");
    leases[0].token
}

/// Ends every other connection to the database, as an administrator would.
pub(crate) async fn cut_all(client: &Client) -> i64 {
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.query_one(cut, &[]).await.unwrap().get(0)
}

/// Asks until the server answers so; it says what its connections do only a moment later.
pub(crate) async fn until(client: &Client, question: &str) {
    let asking = async {
        while !client.query_one(question, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answered = tokio::time::timeout(PATIENCE, asking).await;
    answered.unwrap_or_else(|_| panic!("it is never so: {question}"));
}

/// Waits until so many wait for a lock.
pub(crate) async fn until_blocked(client: &Client, count: u32) {
    let blocked = format!(
        "SELECT count(*) = {count} FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'"
    );
    until(client, &blocked).await;
}

pub(crate) fn is_later(moment: Timestamp) -> bool {
    moment > Timestamp::now()
}

pub(crate) async fn heard(bell: &mut BellListener) {
    let heard = tokio::time::timeout(PATIENCE, bell.heard()).await;
    heard.unwrap_or_else(|_| panic!("the bell was not rung"));
}

/// Someone who hears what processes tell each other.
pub(crate) struct Ear {
    pub(crate) client: Client,
    heard: mpsc::UnboundedReceiver<Notification>,
}

impl Ear {
    pub(crate) async fn new(database: &PostgresDatabase) -> Self {
        let (client, mut connection) = database.config().connect(NoTls).await.unwrap();
        let (tell, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notification) = message {
                    let _ = tell.send(notification);
                }
            }
        });
        client.batch_execute("LISTEN \"inbox.inbox\"").await.unwrap();
        Self { client, heard }
    }

    /// What was told next. Ours says nothing.
    pub(crate) async fn hear(&mut self) -> String {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        heard.unwrap_or_else(|_| panic!("nothing was told")).unwrap().payload().to_owned()
    }

    /// Looks whenever it is told something, and never else, until it sees this many. Answers how often
    /// it was told.
    pub(crate) async fn look_for(&mut self, count: i64) -> usize {
        for told in 1.. {
            assert_eq!(self.hear().await, "");
            let seen = self.client.query_one("SELECT count(*) FROM inbox.ready", &[]).await;
            if seen.unwrap().get::<_, i64>(0) == count {
                return told;
            }
        }
        unreachable!("the loop has no end")
    }

    /// How often it was told something up to now.
    pub(crate) async fn count(&mut self) -> usize {
        self.client.batch_execute("NOTIFY \"inbox.inbox\", 'now'").await.unwrap();
        let mut count = 0;
        while self.hear().await.is_empty() {
            count += 1;
        }
        count
    }
}
