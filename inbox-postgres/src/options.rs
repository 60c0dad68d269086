use std::path::PathBuf;
use std::time::Duration;

use inbox_core::store::{StoreError, StoreErrorKind};

use crate::address::Address;
use crate::migrate::MIGRATIONS;
use crate::roles;
use crate::schema::Schema;
use crate::script::script;
use crate::tls::{Roots, Tls, TlsSettings};

/// How a store is opened.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct PostgresOptions {
    pub(crate) schema: String,
    pub(crate) connections: usize,
    pub(crate) call_timeout: Duration,
    pub(crate) migration_timeout: Duration,
    pub(crate) ensure_schema: bool,
    pub(crate) notifies: bool,
    pub(crate) pooler: bool,
    pub(crate) listen_at: Option<Address>,
    pub(crate) tls: TlsSettings,
}

impl PostgresOptions {
    /// The schema `inbox`, which must be there, up to 16 connections, 30 seconds for any answer and 10
    /// minutes for a migration.
    pub fn new() -> Self {
        Self {
            schema: "inbox".to_owned(),
            connections: 16,
            call_timeout: Duration::from_secs(30),
            migration_timeout: Duration::from_mins(10),
            ensure_schema: false,
            notifies: true,
            pooler: false,
            listen_at: None,
            tls: TlsSettings::default(),
        }
    }

    /// Creates the schema where it is missing, and brings an older one up to date, before the store is
    /// opened. Needs a role that may create tables; in production, rather let a deployment
    /// [`migrate`](Self::migrate) once.
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

    /// How long a migration may take, and how long one that waits for another waits for it.
    pub fn migration_timeout(mut self, timeout: Duration) -> Self {
        self.migration_timeout = timeout;
        self
    }

    /// Neither tells other processes of what is ready nor listens to them: workers find it when they
    /// look. For servers where `NOTIFY` is not wanted.
    pub fn without_notify(mut self) -> Self {
        self.notifies = false;
        self
    }

    /// The address, or the pool, is that of a pooler that gives each transaction another connection, such
    /// as PgBouncer in transaction mode; an address says it with `pgbouncer=true`. Statements are sent
    /// whole, each with its settings in a transaction of its own, and nothing is left on a connection.
    ///
    /// Nobody can listen through such a pooler: say where the server is with
    /// [`listen_at`](Self::listen_at), or workers find what other processes schedule when they look.
    pub fn behind_pooler(mut self) -> Self {
        self.pooler = true;
        self
    }

    /// The server's own address, to listen at: past a pooler such as PgBouncer, which hands a connection
    /// to others, or for a store on a pool of the application's. Its user needs no right on any table.
    pub fn listen_at(mut self, url: impl Into<String>) -> Self {
        self.listen_at = Some(Address(url.into()));
        self
    }

    /// How connections are encrypted; an address says it with `sslmode`, and this wins. Without
    /// either, they are where the server can. A pool of the application's own has its own way.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls.mode = Some(tls);
        self
    }

    /// The file with the certificates of whom to trust, in PEM form; an address says it with
    /// `sslrootcert`, and this wins. Without either, it is whom the system trusts.
    pub fn root_certificate(mut self, file: impl Into<PathBuf>) -> Self {
        self.tls.roots = Some(Roots::File(file.into()));
        self
    }

    /// The statements that make the schema, for whoever applies them by hand: in one transaction, on a
    /// database where it is missing.
    ///
    /// # Errors
    /// When no schema can have this name.
    pub fn schema_sql(&self) -> Result<String, StoreError> {
        self.schema_sql_since(0)
    }

    /// The statements that bring a schema of this version up to date, likewise.
    ///
    /// # Errors
    /// When no schema can have this name, or this version is newer than the program's.
    pub fn schema_sql_since(&self, version: i32) -> Result<String, StoreError> {
        let newest = MIGRATIONS.last().map_or(0, |last| last.version);
        if version > newest {
            let message = format!("there is no version {version}: the newest is {newest}");
            return Err(StoreError::new(StoreErrorKind::Schema, message));
        }
        Ok(script(&Schema::new(&self.schema)?, version))
    }

    /// The statements that make the roles of the schema, and give each what it needs and nothing else:
    /// `inbox_writer` schedules, `inbox_bulk_writer` also loads in bulk, `inbox_worker` works,
    /// `inbox_operator` looks and acts. Another schema's roles begin with its name. For whoever may make
    /// roles, in one transaction, after every migration and as often as you like.
    ///
    /// # Errors
    /// When no schema can have this name, or it is too long for roles named after it.
    pub fn roles_sql(&self) -> Result<String, StoreError> {
        roles::script(&Schema::new(&self.schema)?)
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self::new()
    }
}
