use inbox::Timestamp;
use inbox::postgres::PostgresOptions;
use inbox::store::{DeliveryCount, DeliveryRecord, MessageRecord, Now, Store};
use inbox::testing::ledger::stored;
use inbox::testing::postgres::PostgresDatabase;
use tempfile::TempDir;

/// A store for one test, seen from outside.
pub(crate) struct Place {
    pub(crate) address: String,
    store: Box<dyn Store>,
    home: Home,
}

enum Home {
    Server(Box<PostgresDatabase>),
    File(#[expect(dead_code, reason = "it goes away with the test")] TempDir),
}

/// Everything that is stored.
#[derive(Debug, PartialEq)]
pub(crate) struct Stored {
    counts: Vec<DeliveryCount>,
    deliveries: Vec<DeliveryRecord>,
    messages: Vec<MessageRecord>,
    /// The rows of every table, where they can be asked for.
    rows: Vec<(String, String)>,
}

impl Place {
    pub(crate) async fn on_a_server() -> Self {
        let database = PostgresDatabase::create().await.unwrap();
        let options = PostgresOptions::new().connections(1).ensure_schema();
        let store = Box::new(options.open_config(database.config().clone()).await.unwrap());
        Self { address: database.url(), store, home: Home::Server(database.into()) }
    }

    pub(crate) async fn in_a_file() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("inbox.db");
        let store = Box::new(inbox::sqlite::open(&file).await.unwrap());
        let address = file.to_string_lossy().into_owned();
        Self { address, store, home: Home::File(directory) }
    }

    pub(crate) async fn stored(&self) -> Stored {
        let counts = self.store.counts().await.unwrap();
        let deliveries = stored(&*self.store).await.unwrap();
        let mut messages = Vec::new();
        for delivery in &deliveries {
            messages.push(self.store.show(delivery.message_id).await.unwrap().unwrap());
        }
        let rows = match &self.home {
            Home::Server(database) => rows(database).await,
            Home::File(_) => Vec::new(),
        };
        Stored { counts, deliveries, messages, rows }
    }

    /// Takes the deliveries away whose leases have expired.
    pub(crate) async fn reclaim(&self) -> u64 {
        self.store.reclaim(10, Now::OfStore).await.unwrap().moved()
    }

    /// Whether every lease has expired and nobody has noticed.
    pub(crate) async fn has_expired(&self) -> bool {
        let deliveries = stored(&*self.store).await.unwrap();
        let has_expired = |delivery: &DeliveryRecord| {
            delivery.lease_expires_at.is_some_and(|moment| moment < Timestamp::now())
        };
        deliveries.iter().all(has_expired)
    }
}

async fn rows(database: &PostgresDatabase) -> Vec<(String, String)> {
    let client = database.connect().await.unwrap();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'inbox' ORDER BY 1";
    let mut rows = Vec::new();
    for table in client.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        let all = format!(
            "SELECT coalesce(string_agg(to_jsonb(t)::text, E'\\n' ORDER BY to_jsonb(t)::text), '')
             FROM inbox.{table} AS t"
        );
        rows.push((table, client.query_one(&all, &[]).await.unwrap().get(0)));
    }
    rows
}
