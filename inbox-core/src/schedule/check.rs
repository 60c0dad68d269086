use super::{Limits, ScheduleError, Start};
use crate::message::{Headers, Message, Payload};

/// What no store would take, of one message.
pub(super) struct Check<'a> {
    pub(super) contract: &'a str,
    pub(super) limits: &'a Limits,
}

impl Check<'_> {
    fn contract(&self) -> String {
        self.contract.to_owned()
    }

    pub(super) fn names(&self, message: &Message) -> Result<(), ScheduleError> {
        // An empty tenant is no tenant.
        let tenant = Some(&message.tenant).filter(|tenant| !tenant.is_empty());
        let names = [
            ("idempotency key", message.idempotency_key.as_ref()),
            ("ordering key", message.ordering_key.as_ref()),
            ("concurrency key", message.concurrency_key.as_ref()),
            ("correlation id", message.correlation_id.as_ref()),
            ("causation id", message.causation_id.as_ref()),
            ("tenant", tenant),
        ];
        names.into_iter().try_for_each(|(what, name)| match name {
            Some(name) => self.name(what, name),
            None => Ok(()),
        })
    }

    fn name(&self, what: &'static str, name: &str) -> Result<(), ScheduleError> {
        let (contract, limit, length) = (self.contract(), self.limits.name, name.chars().count());
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
            return Err(ScheduleError::Nul { what, contract: self.contract() });
        }
        Ok(())
    }

    pub(super) fn payload(&self, payload: &Payload) -> Result<(), ScheduleError> {
        let (what, contract, limit) = ("payload", self.contract(), self.limits.payload);
        let size = payload.as_bytes().len();
        if size > limit {
            return Err(ScheduleError::TooLarge { what, contract, size, limit });
        }
        match payload.flaw() {
            Some(flaw) => Err(ScheduleError::Flawed { contract, flaw }),
            None => Ok(()),
        }
    }

    pub(super) fn headers(&self, headers: Vec<(String, String)>) -> Result<Headers, ScheduleError> {
        let (what, contract, limit) = ("headers", self.contract(), self.limits.headers);
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

    pub(super) fn start(&self, start: Start) -> Result<Start, ScheduleError> {
        match start {
            Start::After(delay) if delay > self.limits.delay => Err(ScheduleError::DelayTooLong {
                contract: self.contract(),
                delay,
                limit: self.limits.delay,
            }),
            start => Ok(start),
        }
    }
}
