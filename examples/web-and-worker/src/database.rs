use anyhow::{Result, anyhow};
use inbox::postgres::deadpool_postgres::{Manager, Pool};
use inbox::postgres::tokio_postgres::{Config, NoTls};
use inbox::postgres::{PostgresOptions, PostgresStore};

/// The program's own table. `IF NOT EXISTS` alone is not safe for two programs that start at once,
/// so the second waits for the first.
const ORDERS: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(hashtext('web-and-worker'));
    CREATE TABLE IF NOT EXISTS orders (
        id text PRIMARY KEY,
        amount_cents bigint NOT NULL,
        confirmed_at timestamptz
    );
    COMMIT";

/// What to do where nobody says where the database is.
const NO_DATABASE: &str =
    "DATABASE_URL is not set, and this program needs a PostgreSQL server: start \
    one, such as

    docker run --rm -p 5432:5432 -e POSTGRES_PASSWORD=secret postgres:17

and say where it is:

    export DATABASE_URL=postgres://postgres:secret@localhost/postgres
";

/// One database with the orders and the inbox, so that one transaction holds both.
#[derive(Debug, Clone)]
pub struct Database {
    /// Connections for orders.
    pub pool: Pool,
    /// The inbox's store, with connections of its own.
    pub store: PostgresStore,
}

impl Database {
    /// Connects to the database that `DATABASE_URL` names, and creates what is missing in it.
    ///
    /// In production a deployment does that once, with a role that may: `PostgresOptions::migrate`.
    ///
    /// # Errors
    /// When no database is named, or it cannot be reached.
    pub async fn connect() -> Result<Self> {
        let url = std::env::var("DATABASE_URL").map_err(|_| anyhow!(NO_DATABASE))?;
        let store = PostgresOptions::new().ensure_schema().open(&url).await?;
        // Orders go unencrypted here. The store reads `sslmode` from the address.
        let manager = Manager::new(url.parse::<Config>()?, NoTls);
        let pool = Pool::builder(manager).build()?;
        pool.get().await?.batch_execute(ORDERS).await?;
        Ok(Self { pool, store })
    }
}
