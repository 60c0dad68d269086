use std::sync::Arc;

use inbox_core::message::{Envelope, Message};
use inbox_core::store::{Accepted, StoreFuture, Writer};
use inbox_core::{Now, Timestamp};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::SqliteStore;
use crate::new::New;
use crate::row::{blob, headers_json, payload_value, stored_message};
use crate::sql::sql;

impl Writer for SqliteStore {
    fn accept(&self, envelopes: Arc<[Envelope]>, now: Now) -> StoreFuture<'_, Vec<Accepted>> {
        Box::pin(self.write_and_ring(move |connection| {
            let now = now.or_else(Timestamp::now);
            envelopes.iter().map(|envelope| accept(connection, envelope, now)).collect()
        }))
    }

    fn wake(&self) {
        self.the_bell().ring();
    }
}

/// Stores one message with its deliveries, within the transaction that `connection` is in.
pub(crate) fn accept(
    connection: &Connection,
    envelope: &Envelope,
    now: Timestamp,
) -> Result<Accepted> {
    let message = &envelope.message;
    let id = blob(message.id.as_u128());
    let stored = connection.prepare_cached(sql!("accept_message"))?.execute(params![
        id,
        message.tenant,
        message.contract,
        message.version,
        ToSqlOutput::Borrowed(payload_value(&message.payload)),
        headers_json(&message.headers),
        message.idempotency_key,
        message.ordering_key,
        message.concurrency_key,
        message.correlation_id,
        message.causation_id,
        message.deliver_by.map(Timestamp::as_micros),
        now.as_micros(),
    ])?;
    if stored == 0 {
        let before = connection
            .prepare_cached(sql!("accepted_before"))?
            .query_row(
                params![id, message.tenant, message.contract, message.idempotency_key],
                stored_message,
            )
            .optional()?;
        // Within one transaction, what was in the way cannot be gone.
        let before = before.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        return Ok(Accepted::Before(Box::new(before)));
    }
    deliver(connection, envelope, now)?;
    Ok(Accepted::New { accepted_at: now })
}

/// A delivery for each route, or one that waits for the first.
fn deliver(connection: &Connection, envelope: &Envelope, now: Timestamp) -> Result<()> {
    let Envelope { message, priority, start, .. } = envelope;
    let mut new = New {
        contract: message.contract.clone(),
        version: message.version,
        priority: priority.level().into(),
        message_id: blob(message.id.as_u128()),
        tenant: message.tenant.clone(),
        ordering_key: message.ordering_key.clone(),
        concurrency_key: message.concurrency_key.clone(),
        due_at: start.due_at(now),
        position: None,
    };
    if is_behind(connection, message)? || new.route(connection, now)? == 0 {
        new.wait_for_a_route(connection)?;
    }
    Ok(())
}

/// Whether something of its ordering key waits for a route, so that it has to wait behind that.
fn is_behind(connection: &Connection, message: &Message) -> Result<bool> {
    let Message { contract, tenant, ordering_key: Some(key), .. } = message else {
        return Ok(false);
    };
    let mut select = connection.prepare_cached(sql!("accept_behind"))?;
    select.query_row([contract, tenant, key], |row| row.get(0))
}
