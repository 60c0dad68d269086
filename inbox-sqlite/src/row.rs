use inbox_core::Timestamp;
use inbox_core::message::{Headers, Message, MessageId, Payload};
use inbox_core::store::StoredMessage;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, Result, Row};

/// An id or a token as it is stored: the bytes of a UUID, which sort as it does.
pub(crate) fn blob(bits: u128) -> [u8; 16] {
    bits.to_be_bytes()
}

pub(crate) fn bits(row: &Row<'_>, at: usize) -> Result<u128> {
    row.get::<_, [u8; 16]>(at).map(u128::from_be_bytes)
}

pub(crate) fn message_id(row: &Row<'_>, at: usize) -> Result<MessageId> {
    bits(row, at).map(MessageId::from_u128)
}

pub(crate) fn timestamp(row: &Row<'_>, at: usize) -> Result<Timestamp> {
    row.get(at).map(Timestamp::from_micros)
}

pub(crate) fn optional_timestamp(row: &Row<'_>, at: usize) -> Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Timestamp::from_micros))
}

/// Reads the columns of `message.sql`.
pub(crate) fn stored_message(row: &Row<'_>) -> Result<StoredMessage> {
    let message = Message {
        id: message_id(row, 0)?,
        tenant: row.get(1)?,
        contract: row.get(2)?,
        version: row.get(3)?,
        payload: payload(row, 4)?,
        headers: headers(row, 5)?,
        idempotency_key: row.get(6)?,
        ordering_key: row.get(7)?,
        concurrency_key: row.get(8)?,
        correlation_id: row.get(9)?,
        causation_id: row.get(10)?,
        deliver_by: optional_timestamp(row, 11)?,
    };
    Ok(StoredMessage { message, accepted_at: timestamp(row, 12)? })
}

/// Text or bytes, whatever a program that is not ours may have put there: dispatch judges it.
fn payload(row: &Row<'_>, at: usize) -> Result<Payload> {
    match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Payload::from_bytes(bytes.to_vec())),
        other => Err(Error::InvalidColumnType(at, "payload".to_owned(), other.data_type())),
    }
}

fn headers(row: &Row<'_>, at: usize) -> Result<Headers> {
    let text = row.get_ref(at)?.as_bytes()?;
    if text == b"{}" {
        return Ok(Headers::new());
    }
    // What does not parse is not repeated in the error: headers carry tokens.
    let map: std::collections::BTreeMap<String, String> =
        serde_json::from_slice(text).map_err(|_| {
            Error::FromSqlConversionFailure(at, Type::Text, "the headers are no JSON object".into())
        })?;
    Ok(map.into_iter().collect())
}

/// Headers as they are stored.
pub(crate) fn headers_json(headers: &Headers) -> String {
    let map = headers.iter().map(|(name, value)| (name.to_owned(), value.into()));
    serde_json::Value::Object(map.collect()).to_string()
}

/// JSON is text, and shows as such in other programs; what is not text is kept as it is.
pub(crate) fn payload_value(payload: &Payload) -> ValueRef<'_> {
    let bytes = payload.as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(_) => ValueRef::Text(bytes),
        Err(_) => ValueRef::Blob(bytes),
    }
}
