//! How the stores of tests reach their database: directly or, with `INBOX_TEST_POOLER` set, through
//! PgBouncer in transaction mode, which has few connections for many clients.

#![allow(dead_code, reason = "each test program needs some of it")]

use std::sync::OnceLock;
use std::time::Duration;

use inbox_core::store::StoreError;
use inbox_postgres::tokio_postgres::{Client, Config, NoTls};
use inbox_postgres::{PostgresOptions, PostgresStore};
use inbox_testing::postgres::{PgBouncer, PostgresDatabase};

/// The pooler of this process, before the server of its databases.
static POOLER: OnceLock<PgBouncer> = OnceLock::new();

/// Nothing takes this long unless it never happens, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// Options of a store whose calls wait as long as a busy machine takes.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions::new().call_timeout(PATIENCE)
}

/// Calls until the store answers. A store whose calls have little time may miss it on a busy machine, and
/// may answer the next call.
pub(crate) async fn at_last<T>(call: impl AsyncFn() -> Result<T, StoreError>) -> T {
    let answered = async {
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => assert!(error.is_transient(), "{error}"),
            }
        }
    };
    let answer = tokio::time::timeout(PATIENCE, answered).await;
    answer.unwrap_or_else(|_| panic!("the store answers no call in its time"))
}

/// Connections that a pooler has for a database, however many clients there are.
const FEW: u32 = 3;

pub(crate) fn is_pooled() -> bool {
    std::env::var_os("INBOX_TEST_POOLER").is_some()
}

pub(crate) fn pooler(database: &PostgresDatabase) -> &'static PgBouncer {
    POOLER.get_or_init(|| match PgBouncer::before(database.config(), FEW) {
        Ok(pooler) => pooler,
        Err(error) => panic!("{error}"),
    })
}

/// How a store connects.
pub(crate) fn config(database: &PostgresDatabase) -> Config {
    match is_pooled() {
        true => pooler(database).config(database.config()),
        false => database.config().clone(),
    }
}

/// The same, as an address.
pub(crate) fn url(database: &PostgresDatabase) -> String {
    let user = database.config().get_user().unwrap_or("postgres");
    match is_pooled() {
        true => pooler(database).url(user, &database.to_string()),
        false => database.url(),
    }
}

/// A connection of the application's, for transactions. What a test asks on its own goes directly, by
/// `PostgresDatabase::connect`: behind a pooler the next statement may meet another connection of the
/// server, which does not know what was prepared.
pub(crate) async fn connect(database: &PostgresDatabase) -> Client {
    let (client, connection) = match config(database).connect(NoTls).await {
        Ok(connected) => connected,
        Err(error) => panic!("{error}"),
    };
    // Ends with its client.
    tokio::spawn(async move { connection.await.ok() });
    client
}

pub(crate) trait Reach: Sized {
    /// The options for a store that connects so.
    fn reaching(self) -> Self;

    /// The same, for one that listens.
    fn hearing(self, database: &PostgresDatabase) -> Self;

    fn open_on(
        self,
        database: &PostgresDatabase,
    ) -> impl Future<Output = Result<PostgresStore, StoreError>> + Send;

    fn migrate_on(
        self,
        database: &PostgresDatabase,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Reach for PostgresOptions {
    fn reaching(self) -> Self {
        match is_pooled() {
            true => self.behind_pooler(),
            false => self,
        }
    }

    fn hearing(self, database: &PostgresDatabase) -> Self {
        match is_pooled() {
            true => self.behind_pooler().listen_at(database.url()),
            false => self,
        }
    }

    async fn open_on(self, database: &PostgresDatabase) -> Result<PostgresStore, StoreError> {
        self.hearing(database).open_config(config(database)).await
    }

    async fn migrate_on(self, database: &PostgresDatabase) -> Result<(), StoreError> {
        self.hearing(database).migrate_config(config(database)).await
    }
}
