use std::collections::{HashMap, HashSet};

use inbox_core::message::{Envelope, Message, MessageId};
use inbox_core::schedule::Start;
use inbox_core::store::{StoreError, StoreErrorKind};
use inbox_core::{Now, Timestamp};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::client::Client;
use crate::rights::Way;
use crate::row::{headers_json, message_id, timestamp, uuid};
use crate::schedule::{damaged, moment};
use crate::sql::Sql;
use crate::store::Parameters;
use crate::value::{JsonText, Moment, Span};

/// Stores what does not conflict, and answers when each of those was accepted.
pub(crate) async fn insert(
    store: &PostgresStore,
    client: Client<'_>,
    envelopes: &[&Envelope],
    now: Now,
) -> Result<HashMap<MessageId, Timestamp>, StoreError> {
    let rows = match (store.way(), envelopes) {
        (Way::Written, [envelope]) => insert_one(store, client, envelope, now).await?,
        (Way::Written, _) => insert_many(store, client, Sql::accept, envelopes, now).await?,
        (Way::Called, _) => insert_many(store, client, Sql::accept_called, envelopes, now).await?,
    };
    rows.iter()
        .map(|row| Ok((message_id(row, 0)?, timestamp(row, 1)?)))
        .collect::<Result<_, String>>()
        .map_err(damaged)
}

async fn insert_one(
    store: &PostgresStore,
    client: Client<'_>,
    Envelope { message, start, priority, .. }: &Envelope,
    now: Now,
) -> Result<Vec<Row>, StoreError> {
    let parameters: Parameters<'_> = &[
        &moment(now),
        &uuid(message.id),
        &message.tenant,
        &message.contract,
        &version(message)?,
        &JsonText::from(&message.payload),
        &headers_json(&message.headers),
        &message.idempotency_key,
        &message.ordering_key,
        &message.concurrency_key,
        &message.correlation_id,
        &message.causation_id,
        &message.deliver_by.map(Moment),
        &i16::from(priority.level()),
        &start_at(*start),
        &start_after(*start),
    ];
    client.query(store.text(Sql::accept_one), parameters).await
}

async fn insert_many(
    store: &PostgresStore,
    client: Client<'_>,
    sql: Sql,
    envelopes: &[&Envelope],
    now: Now,
) -> Result<Vec<Row>, StoreError> {
    // The same message twice in one call would be delivered twice.
    let mut seen = HashSet::new();
    let envelopes: Vec<&Envelope> =
        envelopes.iter().copied().filter(|envelope| seen.insert(envelope.message.id)).collect();
    macro_rules! each {
        ($envelope:ident => $value:expr) => {
            envelopes.iter().map(|$envelope| $value).collect::<Vec<_>>()
        };
    }
    let versions = envelopes.iter().map(|envelope| version(&envelope.message));
    let versions = versions.collect::<Result<Vec<_>, _>>()?;
    client
        .query(
            store.text(sql),
            &[
                &moment(now),
                &each!(e => uuid(e.message.id)),
                &each!(e => e.message.tenant.as_str()),
                &each!(e => e.message.contract.as_str()),
                &versions,
                &each!(e => JsonText::from(&e.message.payload)),
                &each!(e => headers_json(&e.message.headers)),
                &each!(e => e.message.idempotency_key.as_deref()),
                &each!(e => e.message.ordering_key.as_deref()),
                &each!(e => e.message.concurrency_key.as_deref()),
                &each!(e => e.message.correlation_id.as_deref()),
                &each!(e => e.message.causation_id.as_deref()),
                &each!(e => e.message.deliver_by.map(Moment)),
                &each!(e => i16::from(e.priority.level())),
                &each!(e => start_at(e.start)),
                &each!(e => start_after(e.start)),
            ],
        )
        .await
}

pub(crate) fn version(message: &Message) -> Result<i32, StoreError> {
    i32::try_from(message.version).map_err(|error| {
        StoreError::new(StoreErrorKind::Other, "a contract's version is too large").caused_by(error)
    })
}

pub(crate) fn start_at(start: Start) -> Option<Moment> {
    match start {
        Start::At(moment) => Some(Moment(moment)),
        Start::Immediately | Start::After(_) => None,
    }
}

pub(crate) fn start_after(start: Start) -> Option<Span> {
    match start {
        Start::After(delay) => Some(Span(delay)),
        Start::Immediately | Start::At(_) => None,
    }
}
