use inbox_core::Timestamp;
use inbox_core::store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::connection::Place;
use crate::error::translate;

#[cfg(test)]
mod tests;

/// One step of the schema. Once released, its text never changes.
struct Migration {
    version: u32,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    name: "initial",
    sql: include_str!("../migrations/0001_initial.sql"),
}];

const HISTORY: &str = "CREATE TABLE IF NOT EXISTS inbox_migration (
    version    INTEGER NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT";

/// Brings the schema to this program's version, in one transaction. Of several processes that try
/// at once, one does it and the others find it done.
pub(crate) fn to_latest(place: &Place, connection: &mut Connection) -> Result<(), StoreError> {
    migrate(place, connection, MIGRATIONS)
}

fn migrate(
    place: &Place,
    connection: &mut Connection,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let failed = |error| translate(place, &error);
    // Looks before it locks: a store that is up to date can be opened while another one writes.
    let found = version(connection).map_err(failed)?;
    let latest = migrations.last().map_or(0, |last| last.version);
    refuse_newer(place, found, latest)?;
    if found == latest {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    refuse_newer(place, found, latest)?;
    transaction.execute_batch(HISTORY).map_err(failed)?;
    for migration in migrations.iter().filter(|migration| migration.version > found) {
        let Migration { version, name, sql } = migration;
        transaction.execute_batch(sql).map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO inbox_migration (version, name, applied_at) VALUES (?1, ?2, ?3)",
                params![version, name, Timestamp::now().as_micros()],
            )
            .map_err(failed)?;
        tracing::info!(store = %place, version, name, "schema migrated");
    }
    transaction.commit().map_err(failed)
}

/// The version of the schema that is there; 0 for none.
fn version(connection: &Connection) -> rusqlite::Result<u32> {
    let history = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'inbox_migration'";
    let history: Option<u8> = connection.query_row(history, [], |row| row.get(0)).optional()?;
    match history {
        Some(_) => {
            let latest = "SELECT coalesce(max(version), 0) FROM inbox_migration";
            connection.query_row(latest, [], |row| row.get(0))
        }
        None => Ok(0),
    }
}

/// What a newer program wrote, this one would misread.
fn refuse_newer(place: &Place, found: u32, latest: u32) -> Result<(), StoreError> {
    if found <= latest {
        return Ok(());
    }
    let message = format!(
        "{place} has schema version {found}, and this program knows versions up to {latest}: \
         update this program; nothing was changed"
    );
    Err(StoreError::new(StoreErrorKind::Schema, message))
}
