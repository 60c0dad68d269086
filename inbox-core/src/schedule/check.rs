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
        if name.is_empty() {
            return Err(ScheduleError::Empty { what, contract: self.contract() });
        }
        let (limit, length) = (self.limits.name, name.chars().count());
        if length > limit {
            return Err(ScheduleError::TooLong { what, contract: self.contract(), length, limit });
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
        let (size, limit) = (payload.as_bytes().len(), self.limits.payload);
        if size > limit {
            return Err(self.too_large("payload", size, limit));
        }
        match payload.flaw() {
            Some(flaw) => Err(ScheduleError::Flawed { contract: self.contract(), flaw }),
            None => Ok(()),
        }
    }

    pub(super) fn headers(&self, headers: Vec<(String, String)>) -> Result<Headers, ScheduleError> {
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size > self.limits.headers {
            return Err(self.too_large("headers", size, self.limits.headers));
        }
        for (name, value) in &headers {
            self.name("name of a header", name)?;
            self.text("value of a header", value)?;
        }
        Ok(headers.into_iter().collect())
    }

    fn too_large(&self, what: &'static str, size: usize, limit: usize) -> ScheduleError {
        ScheduleError::TooLarge { what, contract: self.contract(), size, limit }
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
