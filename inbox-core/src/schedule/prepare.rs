use super::check::Check;
use super::{Codec, Limits, ScheduleError, ScheduleOptions};
use crate::contract::{Contract, EncodeError};
use crate::message::{Envelope, Message, MessageId};

/// Makes the envelope that a store is to accept, or says why none would.
///
/// Pure but for the new id: it touches no store, no clock and no codec.
///
/// # Errors
/// When a store would refuse it; see [`ScheduleError`].
pub fn prepare<T: Contract>(
    command: &T,
    options: ScheduleOptions,
    limits: &Limits,
) -> Result<Envelope, ScheduleError> {
    let check = Check { contract: T::NAME, limits };
    let payload = command
        .to_payload()
        .map_err(|source| ScheduleError::Unencodable(EncodeError { contract: T::NAME, source }))?;
    check.payload(&payload)?;
    let message = Message {
        id: MessageId::new(),
        contract: T::NAME.to_owned(),
        version: T::VERSION,
        payload,
        headers: check.headers(options.headers)?,
        idempotency_key: options.idempotency_key.or_else(|| command.idempotency_key()),
        ordering_key: options.ordering_key.or_else(|| command.ordering_key()),
        concurrency_key: command.concurrency_key(),
        correlation_id: options.correlation_id,
        causation_id: options.causation_id,
        tenant: options.tenant.unwrap_or_default(),
        deliver_by: options.deliver_by,
    };
    check.names(&message)?;
    let (priority, on_conflict) = (options.priority, options.on_conflict);
    let start = check.start(options.start)?;
    Ok(Envelope { message, start, priority, is_encoded: false, on_conflict })
}

/// The envelope with its payload as `codec` writes it, if it has not been written so.
pub(super) fn encoded(
    mut envelope: Envelope,
    codec: Option<&dyn Codec>,
    limits: &Limits,
) -> Result<Envelope, ScheduleError> {
    let codec = codec.filter(|_| !envelope.is_encoded);
    envelope.is_encoded = true;
    let Some(codec) = codec else { return Ok(envelope) };
    let message = &mut envelope.message;
    let refused = |error| ScheduleError::Codec { contract: message.contract.clone(), error };
    let payload = codec.encode(&(&*message).into(), message.payload.clone()).map_err(refused)?;
    if payload.decode::<serde::de::IgnoredAny>().is_err() {
        let error = "what it answered is no JSON: put bytes into a string".into();
        let contract = message.contract.clone();
        return Err(ScheduleError::Codec { contract, error });
    }
    Check { contract: &message.contract, limits }.payload(&payload)?;
    message.payload = payload;
    Ok(envelope)
}
