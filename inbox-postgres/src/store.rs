use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError, TimeoutType};
use inbox_core::store::{Bell, StoreError};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::PostgresOptions;
use crate::client::{Client, Owner, look};
use crate::error::unreachable;
use crate::lease::watermark::Watermarks;
pub(crate) use crate::parameter::Parameters;
use crate::rights::Way;
use crate::schema::Schema;
use crate::sql::{Sql, Statements};
use crate::tls::Connector;
use crate::transaction::turns;
use crate::wake::{Direct, Notifier};
use crate::working::{Canceller, Working};

/// The PostgreSQL store. Clones are one store.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) pool: Pool,
    pub(crate) owner: Owner,
    /// Where the database is, if that is known, as errors say it.
    pub(crate) place: String,
    pub(crate) schema: Schema,
    statements: Statements,
    /// How this role stores messages, once that is known.
    pub(crate) way: OnceLock<Way>,
    call_timeout: Duration,
    pub(crate) migration_timeout: Duration,
    pub(crate) canceller: Arc<Canceller>,
    /// How many handlers may have a transaction at a time.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) watermarks: Watermarks,
    pub(crate) bell: Bell,
    pub(crate) notifier: Notifier,
    /// Where to listen to other processes, if that can be.
    pub(crate) direct: Option<Direct>,
    /// Ends what goes on by itself.
    pub(crate) closing: CancellationToken,
    /// Work that is finished even if nobody waits for it any more.
    pub(crate) tasks: TaskTracker,
}

/// How a store gets at its database.
pub(crate) struct Access {
    pub(crate) pool: Pool,
    pub(crate) owner: Owner,
    pub(crate) place: String,
    pub(crate) tls: Connector,
    pub(crate) direct: Option<Direct>,
}

impl PostgresStore {
    pub(crate) fn new(
        Access { pool, owner, place, tls, direct }: Access,
        schema: Schema,
        &PostgresOptions { call_timeout, migration_timeout, notifies, .. }: &PostgresOptions,
    ) -> Result<Self, StoreError> {
        let notifier = Notifier::new(notifies.then(|| schema.channel()));
        let turns = Arc::new(Semaphore::new(turns(pool.status().max_size)));
        let statements = Statements::of(&schema.quoted)?;
        let (watermarks, tasks) = (Watermarks::default(), TaskTracker::new());
        let asks = !matches!(owner, Owner::Pooler(_));
        let canceller = Canceller { tls, asks, tasks: tasks.clone(), limit: call_timeout };
        let canceller = Arc::new(canceller);
        Ok(Self {
            inner: Arc::new(Inner {
                pool,
                owner,
                place,
                schema,
                statements,
                way: OnceLock::new(),
                call_timeout,
                migration_timeout,
                canceller,
                turns,
                watermarks,
                bell: Bell::default(),
                notifier,
                direct,
                closing: CancellationToken::new(),
                tasks,
            }),
        })
    }

    /// Whether this is a clone of the other.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Closes the pool for all clones, after what is under way.
    pub async fn close(self) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.pool.close();
    }

    pub(crate) async fn connection(&self) -> Result<Working, StoreError> {
        // Whoever gives up here has asked for nothing, and must not be told that something may have
        // happened: so a little before the call as a whole is given up.
        let limit = self.inner.call_timeout;
        let wait = timeout(limit / 10 * 9, self.inner.pool.get()).await;
        let connection = wait.unwrap_or(Err(PoolError::Timeout(TimeoutType::Wait)));
        let connection = connection.map_err(|error| unreachable(error, &self.inner.place))?;
        Ok(Working::new(connection, Arc::clone(&self.inner.canceller)))
    }

    /// Runs one statement on any connection, and gives up waiting in time.
    pub(crate) async fn query(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.in_time(async {
            let mut working = self.connection().await?;
            let answer = self.query_on(working.get()?, sql, parameters).await;
            working.done_with(&answer);
            answer
        })
        .await
    }

    /// Runs a statement that lists, planned anew.
    pub(crate) async fn look(
        &self,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.in_time(async {
            let mut working = self.connection().await?;
            let owner = self.inner.owner;
            let answer = look(working.get()?, owner, self.text(sql), parameters).await;
            working.done_with(&answer);
            answer
        })
        .await
    }

    pub(crate) fn text(&self, sql: Sql) -> &str {
        self.inner.statements.text(sql)
    }

    /// The names of the parameters that a statement is given, in their order.
    pub(crate) fn parameters(&self, sql: Sql) -> &[&'static str] {
        self.inner.statements.parameters(sql)
    }

    /// A connection of the pool, as statements run on it.
    pub(crate) fn client<'a>(&self, connection: &'a Object) -> Client<'a> {
        Client::Pooled(connection, self.inner.owner)
    }

    /// Runs one statement on this connection.
    pub(crate) async fn query_on(
        &self,
        connection: &Object,
        sql: Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.client(connection).query(self.text(sql), parameters).await
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.inner.call_timeout
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.inner.schema.name)
            .finish_non_exhaustive()
    }
}
