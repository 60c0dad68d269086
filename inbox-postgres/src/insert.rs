use std::collections::{HashMap, HashSet};

use inbox_core::message::{Envelope, Message, MessageId};
use inbox_core::schedule::Start;
use inbox_core::store::{StoreError, StoreErrorKind};
use inbox_core::{Now, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::client::Client;
use crate::rights::Way;
use crate::row::{column, headers_json, timestamp, uuid};
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
    if let (Way::Written, [envelope]) = (store.way(), envelopes) {
        let rows = insert_one(store, client, envelope, now).await?;
        let new = rows.iter().map(|row| Ok((envelope.message.id, timestamp(row, 0)?)));
        return new.collect::<Result<_, String>>().map_err(damaged);
    }
    // The same message twice in one call would be delivered twice.
    let mut seen = HashSet::with_capacity(envelopes.len());
    let once = envelopes.iter().copied().filter(|envelope| seen.insert(envelope.message.id));
    let sql = match store.way() {
        Way::Written => Sql::accept,
        Way::Called => Sql::accept_called,
    };
    let rows = insert_many(store, client, sql, once, now).await?;
    let mut new = HashMap::with_capacity(envelopes.len());
    for row in &rows {
        let accepted_at = timestamp(row, 0).map_err(damaged)?;
        let ids: Vec<Uuid> = column(row, 1).map_err(damaged)?;
        new.extend(ids.iter().map(|id| (MessageId::from_u128(id.as_u128()), accepted_at)));
    }
    Ok(new)
}

/// Stores messages without keys, all of them or none, and answers when. Fails if one of them was sent
/// before, which only someone does who keeps envelopes.
pub(crate) async fn insert_keyless(
    store: &PostgresStore,
    client: Client<'_>,
    envelopes: &[Envelope],
    now: Now,
) -> Result<Timestamp, StoreError> {
    let rows = insert_many(store, client, Sql::accept_keyless, envelopes.iter(), now).await?;
    let row = rows.first().ok_or_else(|| damaged("there was no answer".to_owned()))?;
    timestamp(row, 0).map_err(damaged)
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

async fn insert_many<'e>(
    store: &PostgresStore,
    client: Client<'_>,
    sql: Sql,
    envelopes: impl Iterator<Item = &'e Envelope>,
    now: Now,
) -> Result<Vec<Row>, StoreError> {
    let mut given: Vec<(i64, &Envelope)> = (0..).zip(envelopes).collect();
    if sql != Sql::accept_called {
        given.sort_by_key(|(_, envelope)| conflict_order(&envelope.message));
    }
    macro_rules! each {
        ($envelope:ident => $value:expr) => {
            given.iter().map(|(_, $envelope)| $value).collect::<Vec<_>>()
        };
    }
    macro_rules! any {
        ($envelope:ident => $value:expr) => {
            filled(each!($envelope => $value))
        };
    }
    let versions = given.iter().map(|(_, envelope)| version(&envelope.message));
    let versions = versions.collect::<Result<Vec<_>, _>>()?;
    let parameters: Parameters<'_> = &[
        &moment(now),
        &each!(e => uuid(e.message.id)),
        &any!(e => Some(e.message.tenant.as_str()).filter(|tenant| !tenant.is_empty())),
        &each!(e => e.message.contract.as_str()),
        &versions,
        &each!(e => JsonText::from(&e.message.payload)),
        &any!(e => (!e.message.headers.is_empty()).then(|| headers_json(&e.message.headers))),
        &any!(e => e.message.idempotency_key.as_deref()),
        &any!(e => e.message.ordering_key.as_deref()),
        &any!(e => e.message.concurrency_key.as_deref()),
        &any!(e => e.message.correlation_id.as_deref()),
        &any!(e => e.message.causation_id.as_deref()),
        &any!(e => e.message.deliver_by.map(Moment)),
        &each!(e => i16::from(e.priority.level())),
        &any!(e => start_at(e.start)),
        &any!(e => start_after(e.start)),
        // Deliveries are made in the order given.
        &given.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
    ];
    let parameters = match sql {
        Sql::accept_called => &parameters[..parameters.len() - 1],
        _ => parameters,
    };
    client.query(store.text(sql), parameters).await
}

/// A column, or an empty one if all of it is NULL, as most are in most calls: the server fills it up, faster
/// than it reads as many NULLs.
fn filled<T>(column: Vec<Option<T>>) -> Vec<Option<T>> {
    match column.iter().any(Option::is_some) {
        true => column,
        false => Vec::new(),
    }
}

/// What a message may wait for while another one is accepted: its key, or else its id. Whoever stores
/// many does so in this order, as `bulk_accept.sql` does, so that no two wait for each other.
fn conflict_order(message: &Message) -> impl Ord + '_ {
    let id = message.idempotency_key.is_none().then_some(message.id);
    (&message.tenant, &message.contract, &message.idempotency_key, id)
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
