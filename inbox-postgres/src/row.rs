use inbox_core::Timestamp;
use inbox_core::message::{Headers, Message, MessageId, Payload};
use inbox_core::store::StoredMessage;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::value::{Json, Moment};

/// Why a row cannot be read, in words without its content.
pub(crate) type Unreadable = String;

pub(crate) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, Unreadable> {
    row.try_get(at).map_err(|error| error.to_string())
}

pub(crate) fn message_id(row: &Row, at: usize) -> Result<MessageId, Unreadable> {
    column::<Uuid>(row, at).map(|uuid| MessageId::from_u128(uuid.as_u128()))
}

pub(crate) fn uuid(id: MessageId) -> Uuid {
    Uuid::from_u128(id.as_u128())
}

pub(crate) fn timestamp(row: &Row, at: usize) -> Result<Timestamp, Unreadable> {
    column::<Moment>(row, at).map(|moment| moment.0)
}

pub(crate) fn optional_timestamp(row: &Row, at: usize) -> Result<Option<Timestamp>, Unreadable> {
    Ok(column::<Option<Moment>>(row, at)?.map(|moment| moment.0))
}

/// A number that counts something.
pub(crate) fn count(row: &Row, at: usize) -> Result<u32, Unreadable> {
    let number: i32 = column(row, at)?;
    u32::try_from(number).map_err(|_| format!("{number} counts nothing"))
}

/// Reads the columns of `message.sql`, which begin at `at`.
pub(crate) fn stored_message(row: &Row, at: usize) -> Result<StoredMessage, Unreadable> {
    let message = Message {
        id: message_id(row, at)?,
        tenant: column(row, at + 1)?,
        contract: column(row, at + 2)?,
        version: count(row, at + 3)?,
        payload: Payload::from_bytes(column::<Json>(row, at + 4)?.0),
        headers: headers(&column::<Json>(row, at + 5)?.0)?,
        idempotency_key: column(row, at + 6)?,
        ordering_key: column(row, at + 7)?,
        concurrency_key: column(row, at + 8)?,
        correlation_id: column(row, at + 9)?,
        causation_id: column(row, at + 10)?,
        deliver_by: optional_timestamp(row, at + 11)?,
    };
    Ok(StoredMessage { message, accepted_at: timestamp(row, at + 12)? })
}

fn headers(json: &[u8]) -> Result<Headers, Unreadable> {
    if json == b"{}" {
        return Ok(Headers::new());
    }
    // What does not parse is not repeated in the error: headers carry tokens.
    let map: std::collections::BTreeMap<String, String> = serde_json::from_slice(json)
        .map_err(|_| "the headers are no JSON object of strings".to_owned())?;
    Ok(map.into_iter().collect())
}

/// Headers as they are stored.
pub(crate) fn headers_json(headers: &Headers) -> Json {
    let map = headers.iter().map(|(name, value)| (name.to_owned(), value.into()));
    Json(serde_json::Value::Object(map.collect()).to_string().into_bytes())
}
