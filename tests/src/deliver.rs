//! Deliveries made by hand, as a store would lease them.

use inbox::dispatch::Delivery;
use inbox::message::Payload;
use inbox::schedule::{Limits, prepare};
use inbox::{Contract, HandlerError, Outcomes, Registry, Request, ScheduleOptions, Timestamp};
use tower::ServiceExt as _;

/// The first delivery of `command` to the handler `key`.
///
/// # Panics
/// When the command cannot be encoded.
pub fn delivery<T: Contract>(command: &T, key: &str) -> Delivery {
    match prepare(command, ScheduleOptions::new(), &Limits::default()) {
        Ok(envelope) => Delivery::first(envelope.message, Timestamp::from_micros(0), key),
        Err(error) => panic!("{error}"),
    }
}

/// A delivery of a row with exactly this payload.
#[must_use]
pub fn stored(mut delivery: Delivery, version: u32, payload: &str) -> Delivery {
    delivery.message.version = version;
    delivery.message.payload = Payload::from_bytes(payload.as_bytes().to_vec());
    delivery
}

/// A request for one delivery that nothing cancels.
#[must_use]
pub fn request(delivery: Delivery) -> Request {
    Request::unstored(delivery)
}

/// Runs the handler that `delivery` was stored for, without any layers.
///
/// # Errors
/// When the run does not complete.
///
/// # Panics
/// When no such handler is registered.
pub async fn run(registry: &Registry, delivery: Delivery) -> Result<Outcomes, HandlerError> {
    let Some(handler) = registry.handler(&delivery.handler_key) else {
        panic!("no handler `{}`", delivery.handler_key)
    };
    handler.service().oneshot(request(delivery)).await
}
