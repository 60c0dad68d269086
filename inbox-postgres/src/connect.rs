use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use inbox_core::store::{StoreError, StoreErrorKind};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::client::Owner;
use crate::client::session;
use crate::schema::Schema;
use crate::store::Access;
use crate::tcp::notice_silence;
use crate::tls::{Connector, unverified};
use crate::wake::Direct;
use crate::{PostgresOptions, PostgresStore, address};

impl PostgresOptions {
    /// Opens the store at `url`, such as `postgres://user:password@host/database`, and checks its
    /// schema.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open(self, url: &str) -> Result<PostgresStore, StoreError> {
        let (options, config) = self.at(url)?;
        options.open_config(config).await
    }

    /// Opens the store with a configuration of the driver.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open_config(self, config: Config) -> Result<PostgresStore, StoreError> {
        let store = self.prepare(config).await?;
        self.checked(store).await
    }

    /// Opens the store on a pool that the application has anyway. Its connections keep their
    /// settings: each statement of the store brings its own.
    ///
    /// # Errors
    /// When the database cannot be reached, or its schema is missing or of another version.
    pub async fn open_pool(self, pool: Pool) -> Result<PostgresStore, StoreError> {
        // Nobody can ask the pool how it encrypts. A cancellation holds no secret but its own.
        let (schema, tls) = (Schema::new(&self.schema)?, unverified()?);
        let owner = self.owner(Owner::Application);
        let (place, direct) = (String::new(), self.direct().await?);
        let access = Access { pool, owner, place, tls, direct };
        self.checked(PostgresStore::new(access, schema, &self)?).await
    }

    /// Creates the schema at `url`, or brings it up to date, and does nothing else: for a deployment,
    /// whose role may do more than that of the programs.
    ///
    /// # Errors
    /// When the database cannot be reached or refuses, or the schema is newer than this program or was
    /// changed by hand. Then nothing was changed.
    pub async fn migrate(self, url: &str) -> Result<(), StoreError> {
        let (options, config) = self.at(url)?;
        options.migrate_config(config).await
    }

    /// The same, with a configuration of the driver.
    ///
    /// # Errors
    /// As [`migrate`](Self::migrate).
    pub async fn migrate_config(self, config: Config) -> Result<(), StoreError> {
        let store = self.connections(1).prepare(config).await?;
        let migrated = store.ensure_schema().await;
        store.close().await;
        migrated
    }

    /// What the program says wins over the address.
    fn at(mut self, url: &str) -> Result<(Self, Config), StoreError> {
        let (config, said) = address::read(url)?;
        self.tls = self.tls.or(said.tls);
        self.pooler |= said.pooler;
        Ok((self, config))
    }

    async fn checked(&self, store: PostgresStore) -> Result<PostgresStore, StoreError> {
        match self.ensure_schema {
            true => store.ensure_schema().await?,
            false => store.validate_schema().await?,
        }
        store.find_way().await?;
        Ok(store)
    }

    async fn prepare(&self, mut config: Config) -> Result<PostgresStore, StoreError> {
        let schema = Schema::new(&self.schema)?;
        let tls = self.tls.clone().apply(&mut config).await?;
        notice_silence(&mut config, self.call_timeout);
        let owner = self.owner(Owner::Store);
        let place = place(&config);
        let direct = match self.direct().await? {
            None if self.notifies && !self.pooler => {
                Some(Direct::new(config.clone(), tls.clone(), place.clone()))
            }
            direct => direct,
        };
        let pool = self.pool(config, tls.clone())?;
        let access = Access { pool, owner, place, tls, direct };
        PostgresStore::new(access, schema, self)
    }

    /// Whose the connections are: with a pooler in between, neither the store's nor the application's.
    fn owner(&self, without_pooler: Owner) -> Owner {
        match self.pooler {
            true => Owner::Pooler(self.call_timeout),
            false => without_pooler,
        }
    }

    /// Where to listen, if that is said.
    async fn direct(&self) -> Result<Option<Direct>, StoreError> {
        let Some(address) = self.listen_at.clone().filter(|_| self.notifies) else {
            return Ok(None);
        };
        let (mut config, said) = address::read(&address.0)?;
        if said.pooler {
            let message = "nobody can listen through a pooler: give `PostgresOptions::listen_at` the \
                           server's own address, without `pgbouncer=true`; or leave it out, and \
                           workers find what there is when they look";
            return Err(StoreError::new(StoreErrorKind::CannotOpen, message));
        }
        let tls = self.tls.clone().or(said.tls).apply(&mut config).await?;
        notice_silence(&mut config, self.call_timeout);
        let place = place(&config);
        Ok(Some(Direct::new(config, tls, place)))
    }

    fn pool(&self, config: Config, tls: Connector) -> Result<Pool, StoreError> {
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, tls, manager);
        let mut builder = Pool::builder(manager);
        if !self.pooler {
            builder = builder.post_create(Hook::async_fn(|client, _| {
                Box::pin(async move {
                    client.batch_execute(&session()).await.map_err(HookError::Backend)
                })
            }));
        }
        builder
            .max_size(self.connections.max(1))
            .wait_timeout(Some(self.call_timeout))
            .create_timeout(Some(self.call_timeout))
            .recycle_timeout(Some(self.call_timeout))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| {
                StoreError::new(StoreErrorKind::CannotOpen, "the pool cannot be made")
                    .caused_by(error)
            })
    }
}

/// Where a database is, as errors say it.
fn place(config: &Config) -> String {
    let host = config.get_hosts().first().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().copied().unwrap_or(5432);
    host.map_or(String::new(), |host| format!(" at {host}, port {port},"))
}

/// Opens the store at `url`, in the schema `inbox`, which must be there:
/// [`PostgresOptions::migrate`] creates it.
///
/// # Errors
/// When the database cannot be reached, or its schema is missing or of another version.
pub async fn connect(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresOptions::new().open(url).await
}
