use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::{Config, NoTls};

use crate::PostgresStore;
use crate::client::Owner;
use crate::schema::Schema;
use crate::sql::SESSION;

/// How a store is opened.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct PostgresOptions {
    schema: String,
    connections: usize,
    call_timeout: Duration,
    ensure_schema: bool,
}

impl PostgresOptions {
    /// The schema `inbox`, which must be there, up to 16 connections, and 30 seconds for any answer.
    pub fn new() -> Self {
        let call_timeout = Duration::from_secs(30);
        Self { schema: "inbox".to_owned(), connections: 16, call_timeout, ensure_schema: false }
    }

    /// Creates the schema where it is missing, and brings an older one up to date. Needs a role that
    /// may create tables; in production, rather let a deployment do it once.
    pub fn ensure_schema(mut self) -> Self {
        self.ensure_schema = true;
        self
    }

    /// The schema that holds the tables.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// At most this many connections; one is enough.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// How long a caller waits for an answer, whatever the reason.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Opens the store at `url`, such as `postgres://user:password@host/database`, and checks its
    /// schema.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open(self, url: &str) -> Result<PostgresStore, StoreError> {
        // The text is not repeated: it holds a password.
        let config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let message = "the database's address cannot be understood: write it like \
                           postgres://user:password@host/database";
            StoreError::new(StoreErrorKind::CannotOpen, message).caused_by(error)
        })?;
        self.open_config(config).await
    }

    /// Opens the store with a configuration of the driver.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open_config(self, config: Config) -> Result<PostgresStore, StoreError> {
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, manager);
        let pool = Pool::builder(manager)
            .max_size(self.connections.max(1))
            .wait_timeout(Some(self.call_timeout))
            .create_timeout(Some(self.call_timeout))
            .recycle_timeout(Some(self.call_timeout))
            .runtime(Runtime::Tokio1)
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(
                    async move { client.batch_execute(SESSION).await.map_err(HookError::Backend) },
                )
            }))
            .build()
            .map_err(|error| {
                StoreError::new(StoreErrorKind::CannotOpen, "the pool cannot be made")
                    .caused_by(error)
            })?;
        self.open_on(pool, Owner::Store).await
    }

    /// Opens the store on a pool that the application has anyway. Its connections keep their
    /// settings: each statement of the store brings its own.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open_pool(self, pool: Pool) -> Result<PostgresStore, StoreError> {
        self.open_on(pool, Owner::Application).await
    }

    async fn open_on(self, pool: Pool, owner: Owner) -> Result<PostgresStore, StoreError> {
        let schema = Schema::new(&self.schema)?;
        let store = PostgresStore::new(pool, owner, schema, self.call_timeout);
        match self.ensure_schema {
            true => store.ensure_schema().await?,
            false => store.validate_schema().await?,
        }
        Ok(store)
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens the store at `url`, in the schema `inbox`, which must be there:
/// [`PostgresOptions::ensure_schema`] creates it.
///
/// # Errors
/// When the database cannot be reached, or its schema is missing or of another version.
pub async fn connect(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresOptions::new().open(url).await
}
