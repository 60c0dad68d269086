use inbox_core::message::MessageId;
use inbox_core::store::{LeaseRequest, StoredMessage, Wanted};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};
use serde_json::{Value, json};

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
    pub(crate) handler_key: String,
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
            handler_key: row.get(6)?,
        })
    }
}

/// Takes up to `limit` rows of one key from `ready`, in their order.
pub(crate) fn take(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    limit: u32,
) -> Result<Vec<Taken>> {
    let versions = Value::from(wanted.versions.clone()).to_string();
    // Messages without a tenant are not in the index on tenants.
    let mut take = connection.prepare_cached(match request.serves("") {
        true => sql!("lease_take"),
        false => sql!("lease_take_tenants"),
    })?;
    let parameters = params![wanted.handler_key, versions, limit, tenants(request)];
    let taken = take.query_map(parameters, Taken::read)?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // RETURNING promises no order.
    taken.sort_by_key(|taken| (-taken.priority, taken.seq));
    Ok(taken)
}

/// Takes the suspect that has been ready for longest, of all that is wanted.
pub(crate) fn take_suspect(
    connection: &Connection,
    request: &LeaseRequest,
) -> Result<Option<Taken>> {
    let pairs = request.wanted.iter().flat_map(|wanted| {
        wanted.versions.iter().map(|version| json!([wanted.handler_key, version]))
    });
    let pairs = Value::from(pairs.collect::<Vec<_>>()).to_string();
    let mut take = connection.prepare_cached(sql!("lease_take_suspect"))?;
    let mut taken = take.query_map(params![pairs, tenants(request)], Taken::read)?;
    // To its end: a statement that returns rows has done its work only then.
    let first = taken.next().transpose()?;
    taken.try_for_each(|taken| taken.map(drop))?;
    Ok(first)
}

/// The tenants that the worker serves, unless all.
fn tenants(request: &LeaseRequest) -> Option<String> {
    Some(Value::from(request.tenants.clone()?).to_string())
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
