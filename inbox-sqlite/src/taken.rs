use inbox_core::message::MessageId;
use inbox_core::store::{StoredMessage, Wanted};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::row::{blob, message_id, stored_message};
use crate::sql::sql;

/// A row that has left `ready`.
pub(crate) struct Taken {
    seq: i64,
    pub(crate) message_id: MessageId,
    pub(crate) version: i64,
    pub(crate) priority: i64,
    pub(crate) attempts: u32,
    pub(crate) delayed_retries: u32,
}

impl Taken {
    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            message_id: message_id(row, 1)?,
            version: row.get(2)?,
            priority: row.get(3)?,
            attempts: row.get(4)?,
            delayed_retries: row.get(5)?,
        })
    }
}

/// Takes up to `limit` rows from `ready`, in their order.
pub(crate) fn take(
    connection: &Connection,
    wanted: &Wanted,
    suspect: bool,
    limit: u32,
) -> Result<Vec<Taken>> {
    let versions = serde_json::Value::from(wanted.versions.clone()).to_string();
    let mut take = connection.prepare_cached(sql!("lease_take"))?;
    let taken = take
        .query_map(params![wanted.handler_key, suspect, versions, limit], Taken::read)?
        .collect::<Result<Vec<_>>>();
    let mut taken = taken?;
    // RETURNING promises no order.
    taken.sort_by_key(|taken| (-taken.priority, taken.seq));
    Ok(taken)
}

/// The message, or what is wrong with its row. A damaged row must not keep others from their turn.
pub(crate) fn message(
    connection: &Connection,
    id: MessageId,
) -> Result<std::result::Result<StoredMessage, String>> {
    let mut select = connection.prepare_cached(sql!("message"))?;
    match select.query_row([blob(id.as_u128())], stored_message).optional() {
        Ok(Some(stored)) => Ok(Ok(stored)),
        Ok(None) => Ok(Err(format!("message {id} is gone: its row was deleted"))),
        Err(error) if error.sqlite_error().is_some() => Err(error),
        Err(error) => Ok(Err(format!("the row of message {id} cannot be read: {error}"))),
    }
}
