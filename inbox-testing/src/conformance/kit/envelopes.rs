use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::message::{Envelope, Headers, Message, MessageId, Payload};
use inbox_core::schedule::{OnConflict, Priority, Start};

/// A message of version 1 of `contract` with nothing special.
pub(crate) fn envelope(contract: &str) -> Envelope {
    let message = Message {
        id: MessageId::new(),
        contract: contract.to_owned(),
        version: 1,
        payload: bytes(r#"{"payment_id":42}"#),
        headers: Headers::new(),
        idempotency_key: None,
        ordering_key: None,
        concurrency_key: None,
        correlation_id: None,
        causation_id: None,
        tenant: String::new(),
        deliver_by: None,
    };
    let (start, priority) = (Start::Immediately, Priority::Normal);
    Envelope { message, start, priority, is_encoded: true, on_conflict: OnConflict::KeepFirst }
}

pub(crate) fn bytes(json: &str) -> Payload {
    Payload::from_bytes(json.as_bytes().to_vec())
}

/// Whether two payloads say the same; a store may keep JSON in words of its own.
pub(crate) fn same_json(left: &Payload, right: &Payload) -> bool {
    let value = |payload: &Payload| payload.decode::<serde_json::Value>().ok();
    value(left).is_some() && value(left) == value(right)
}

pub(crate) fn keyed(contract: &str, key: &str) -> Envelope {
    let mut envelope = envelope(contract);
    envelope.message.idempotency_key = Some(key.to_owned());
    envelope
}

pub(crate) fn versioned(contract: &str, version: u32) -> Envelope {
    let mut envelope = envelope(contract);
    envelope.message.version = version;
    envelope
}

pub(crate) fn of_tenant(tenant: &str, contract: &str) -> Envelope {
    let mut envelope = envelope(contract);
    tenant.clone_into(&mut envelope.message.tenant);
    envelope
}

/// One of a lane.
pub(crate) fn ordered(contract: &str, ordering_key: &str) -> Envelope {
    let mut envelope = envelope(contract);
    envelope.message.ordering_key = Some(ordering_key.to_owned());
    envelope
}

pub(crate) fn prioritised(contract: &str, priority: Priority) -> Envelope {
    Envelope { priority, ..envelope(contract) }
}

pub(crate) fn delayed(contract: &str, delay: Duration) -> Envelope {
    Envelope { start: Start::After(delay), ..envelope(contract) }
}

pub(crate) fn starting(contract: &str, moment: Timestamp) -> Envelope {
    Envelope { start: Start::At(moment), ..envelope(contract) }
}
