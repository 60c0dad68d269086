use std::fmt;
use std::sync::OnceLock;

use tokio_postgres::{Client, Config, NoTls};

use super::{PostgresError, PostgresServer};

/// The server of this process, started when the first database is asked for.
static SERVER: OnceLock<Result<PostgresServer, String>> = OnceLock::new();

/// An empty PostgreSQL database for one test.
///
/// It is on the server that `DATABASE_URL` names, or else on one that is started for this process
/// and stopped with it. When the test is over the database is dropped; when the test panics it is
/// kept, and its address printed, with what to type to start the server again. A test that returns an
/// error has not panicked: `unwrap` where you want to look.
#[derive(Debug)]
pub struct PostgresDatabase {
    name: String,
    config: Config,
    admin: Config,
}

impl PostgresDatabase {
    /// Creates a database.
    ///
    /// # Errors
    /// When there is no server, or it refuses.
    pub async fn create() -> Result<Self, PostgresError> {
        let admin = admin()?;
        let name = format!("inbox_test_{}_{:016x}", std::process::id(), fastrand::u64(..));
        let client = connect(&admin).await?;
        execute(&client, "create a database", &format!("CREATE DATABASE {name}")).await?;
        let mut config = admin.clone();
        config.dbname(&name);
        Ok(Self { name, config, admin })
    }

    /// How to connect to it.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Connects to it, for statements of the test's own.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn connect(&self) -> Result<Client, PostgresError> {
        connect(&self.config).await
    }

    /// Its address, for other programs.
    #[must_use]
    pub fn url(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            _ => "localhost".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or("postgres");
        let password = self.config.get_password().map(String::from_utf8_lossy);
        let password = password.map_or(String::new(), |password| format!(":{password}"));
        format!("postgres://{user}{password}@{host}:{port}/{}", self.name)
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the database of the failed test is kept: {}", self.url());
            if let Some(Ok(server)) = SERVER.get() {
                server.keep();
                eprintln!("start its server again with: {}", server.command());
            }
            return;
        }
        let (admin, name) = (self.admin.clone(), self.name.clone());
        // Within a runtime nothing can be waited for; a thread has none.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(drop_database(&admin, &name)))
        });
        let _ = dropping.join();
    }
}

async fn drop_database(admin: &Config, name: &str) -> Result<(), PostgresError> {
    let client = connect(admin).await?;
    let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    execute(&client, "drop a database", &statement).await
}

fn admin() -> Result<Config, PostgresError> {
    let url = match std::env::var("DATABASE_URL") {
        Ok(url) => url,
        Err(_) => {
            let started =
                SERVER.get_or_init(|| PostgresServer::start().map_err(|error| described(&error)));
            match started {
                Ok(server) => server.url("postgres"),
                Err(text) => return Err(PostgresError::Unavailable { reason: text.clone() }),
            }
        }
    };
    url.parse().map_err(database("understand DATABASE_URL"))
}

fn described(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", described(source)),
        None => error.to_string(),
    }
}

async fn connect(config: &Config) -> Result<Client, PostgresError> {
    let (client, connection) = config.connect(NoTls).await.map_err(database("connect"))?;
    // Ends with its client.
    tokio::spawn(async move { connection.await.ok() });
    Ok(client)
}

async fn execute(client: &Client, what: &str, statement: &str) -> Result<(), PostgresError> {
    client.batch_execute(statement).await.map_err(database(what))
}

fn database(what: &str) -> impl FnOnce(tokio_postgres::Error) -> PostgresError + use<> {
    let what = what.to_owned();
    move |source| PostgresError::Database { what, source }
}

impl fmt::Display for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
