use super::{Limits, ScheduleError, ScheduleOptions, Start};
use crate::contract::{Contract, EncodeError};
use crate::message::{Envelope, Headers, MessageId, Payload};

/// Makes the envelope that a store is to accept, or says why none would.
///
/// Pure but for the new id: it touches no store and no clock.
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
    let envelope = Envelope {
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
        start: check.start(options.start)?,
        priority: options.priority,
        on_conflict: options.on_conflict,
    };
    for (what, name) in [
        ("idempotency key", &envelope.idempotency_key),
        ("ordering key", &envelope.ordering_key),
        ("concurrency key", &envelope.concurrency_key),
        ("correlation id", &envelope.correlation_id),
        ("causation id", &envelope.causation_id),
    ] {
        name.as_deref().map_or(Ok(()), |name| check.name(what, name))?;
    }
    // An empty tenant is no tenant.
    if !envelope.tenant.is_empty() {
        check.name("tenant", &envelope.tenant)?;
    }
    Ok(envelope)
}

struct Check<'a> {
    contract: &'static str,
    limits: &'a Limits,
}

impl Check<'_> {
    fn name(&self, what: &'static str, name: &str) -> Result<(), ScheduleError> {
        let (contract, limit, length) = (self.contract, self.limits.name, name.chars().count());
        if name.is_empty() {
            return Err(ScheduleError::Empty { what, contract });
        }
        if length > limit {
            return Err(ScheduleError::TooLong { what, contract, length, limit });
        }
        self.text(what, name)
    }

    fn text(&self, what: &'static str, text: &str) -> Result<(), ScheduleError> {
        if text.contains('\0') {
            return Err(ScheduleError::Nul { what, contract: self.contract });
        }
        Ok(())
    }

    fn payload(&self, payload: &Payload) -> Result<(), ScheduleError> {
        let (what, contract, limit) = ("payload", self.contract, self.limits.payload);
        let size = payload.as_bytes().len();
        if size > limit {
            return Err(ScheduleError::TooLarge { what, contract, size, limit });
        }
        if payload.has_nul() {
            return Err(ScheduleError::Nul { what, contract });
        }
        Ok(())
    }

    fn headers(&self, headers: Vec<(String, String)>) -> Result<Headers, ScheduleError> {
        let (what, contract, limit) = ("headers", self.contract, self.limits.headers);
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size > limit {
            return Err(ScheduleError::TooLarge { what, contract, size, limit });
        }
        for (name, value) in &headers {
            self.name("name of a header", name)?;
            self.text("value of a header", value)?;
        }
        Ok(headers.into_iter().collect())
    }

    fn start(&self, start: Start) -> Result<Start, ScheduleError> {
        match start {
            Start::After(delay) if delay > self.limits.delay => Err(ScheduleError::DelayTooLong {
                contract: self.contract,
                delay,
                limit: self.limits.delay,
            }),
            start => Ok(start),
        }
    }
}
