//! What the tests are written with.

use inbox::postgres::tokio_postgres::{Client, Config};
use inbox::postgres::{PostgresOptions, PostgresStore};
use inbox::store::StoreError;
use inbox::{handler, inbox_contract};
use inbox_testing::postgres::PostgresDatabase;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct Pay {
    pub(crate) id: u64,
}

#[handler(key = "pay", max_attempts = 2, retry(initial = "1ms"))]
async fn pay(command: Pay) -> Result<(), String> {
    match command.id {
        0..100 => Ok(()),
        id => Err(format!("{id} is too much")),
    }
}

pub(crate) const ROLES: [&str; 4] =
    ["inbox_writer", "inbox_bulk_writer", "inbox_worker", "inbox_operator"];

/// A schema with its roles.
pub(crate) async fn database() -> PostgresDatabase {
    let database = PostgresDatabase::create().await.unwrap();
    PostgresOptions::new().migrate_config(database.config().clone()).await.unwrap();
    let client = database.connect().await.unwrap();
    let roles = PostgresOptions::new().roles_sql().unwrap();
    client.batch_execute(&roles).await.unwrap();
    database
}

/// How a member of this role connects. Roles belong to the server, and nobody logs in as one.
pub(crate) fn config(database: &PostgresDatabase, role: &str) -> Config {
    let mut config = database.config().clone();
    config.options(format!("-c role={role}"));
    config
}

pub(crate) async fn open(
    database: &PostgresDatabase,
    role: &str,
) -> Result<PostgresStore, StoreError> {
    PostgresOptions::new().connections(2).open_config(config(database, role)).await
}

/// A connection of a member of this role.
pub(crate) async fn connect(database: &PostgresDatabase, role: &str) -> Client {
    let client = database.connect().await.unwrap();
    client.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
    client
}
