use std::cmp::Reverse;

use inbox_core::message::MessageId;
use inbox_core::store::{LeaseRequest, StoredMessage, Wanted};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};
use serde_json::Value;

use crate::lanes::LaneName;
use crate::ready::Returning;
use crate::room::Room;
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
    pub(crate) tenant: String,
    pub(crate) lane: Option<LaneName>,
    pub(crate) concurrency_key: Option<String>,
}

impl Taken {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let tenant: String = row.get(7)?;
        let lane = match (row.get(8)?, row.get(9)?) {
            (Some(first_key), Some(ordering_key)) => {
                Some(LaneName { first_key, tenant: tenant.clone(), ordering_key })
            }
            _ => None,
        };
        Ok(Self {
            seq: row.get(0)?,
            message_id: message_id(row, 1)?,
            version: row.get(2)?,
            priority: row.get(3)?,
            attempts: row.get(4)?,
            delayed_retries: row.get(5)?,
            handler_key: row.get(6)?,
            tenant,
            lane,
            concurrency_key: row.get(10)?,
        })
    }

    /// (lease) → ready, as if it had not been taken.
    pub(crate) fn go_back(&self, connection: &Connection, suspect: bool) -> Result<()> {
        let returning = Returning {
            handler_key: &self.handler_key,
            version: self.version,
            priority: self.priority,
            message_id: blob(self.message_id.as_u128()),
            attempts: self.attempts,
            delayed_retries: self.delayed_retries,
            suspect,
        };
        returning.make_ready(connection)
    }
}

/// Takes up to `limit` rows of one key from `ready`, in their order.
pub(crate) fn take(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
    limit: u32,
) -> Result<Vec<Taken>> {
    if room.is_by_key() {
        let seqs = look(connection, request, wanted, room, limit)?;
        return seqs.into_iter().filter_map(|seq| take_one(connection, seq).transpose()).collect();
    }
    // Messages without a tenant are not in the index on tenants.
    let mut take = connection.prepare_cached(match request.serves("") {
        true => sql!("lease_take"),
        false => sql!("lease_take_tenants"),
    })?;
    let parameters = params![wanted.handler_key, versions(wanted), limit, tenants(request)];
    let taken = take.query_map(parameters, Taken::read)?;
    let mut taken = taken.collect::<Result<Vec<_>>>()?;
    // RETURNING promises no order.
    taken.sort_by_key(|taken| (-taken.priority, taken.seq));
    Ok(taken)
}

/// Finds up to `limit` rows whose concurrency keys have room, in their order.
fn look(
    connection: &Connection,
    request: &LeaseRequest,
    wanted: &Wanted,
    room: &mut Room<'_>,
    limit: u32,
) -> Result<Vec<i64>> {
    let (statement, scopes) = match &request.tenants {
        // A concurrency key is a tenant's own, so each is looked at alone.
        Some(named) if !request.serves("") => {
            (sql!("lease_look_tenant"), named.iter().cloned().map(Some).collect())
        }
        _ => (sql!("lease_look"), vec![tenants(request)]),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for scope in scopes {
        let mut look = connection.prepare_cached(statement)?;
        let mut rows = look.query(params![wanted.handler_key, versions(wanted), scope])?;
        let before = found.len();
        while found.len() - before < limit {
            let Some(row) = rows.next()? else { break };
            if room.of_key(row.get(2)?, row.get(3)?)? {
                found.push((Reverse(row.get::<_, i64>(1)?), row.get(0)?));
            }
        }
    }
    found.sort_unstable();
    found.truncate(limit);
    Ok(found.into_iter().map(|(_, seq)| seq).collect())
}

/// Takes one that was looked at.
pub(crate) fn take_one(connection: &Connection, seq: i64) -> Result<Option<Taken>> {
    let mut take = connection.prepare_cached(sql!("lease_take_one"))?;
    take.query_row([seq], Taken::read).optional()
}

fn versions(wanted: &Wanted) -> String {
    Value::from(wanted.versions.clone()).to_string()
}

/// The tenants that the worker serves, unless all.
pub(crate) fn tenants(request: &LeaseRequest) -> Option<String> {
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
