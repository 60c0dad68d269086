use std::fmt;
use std::sync::Arc;

use super::codec::same_payload;
use super::{
    Acceptance, Codec, Limits, OnConflict, Origin, Receipt, ScheduleError, ScheduleOptions,
    TransactionOf, prepare,
};
use crate::contract::Contract;
use crate::message::{Envelope, Message, Payload};
use crate::store::{Accepted, Writer};
use crate::{Clock, StoreClock};

/// Stores commands, to be handled by whoever has a handler for them.
///
/// Cheap to clone. `Scheduler` without a parameter is one whose store is not known by type, such
/// as a handler's.
pub struct Scheduler<S: ?Sized = dyn Writer> {
    store: Arc<S>,
    terms: Arc<Terms>,
    origin: Option<Arc<Origin>>,
}

#[derive(Clone)]
struct Terms {
    limits: Limits,
    codec: Option<Arc<dyn Codec>>,
    clock: Arc<dyn Clock>,
}

impl<S: ?Sized> Scheduler<S> {
    /// A scheduler that stores in `store`, with default limits and plain JSON.
    #[must_use]
    pub fn new(store: Arc<S>) -> Self {
        let terms = Terms { limits: Limits::default(), codec: None, clock: Arc::new(StoreClock) };
        Self { store, terms: Arc::new(terms), origin: None }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        Arc::make_mut(&mut self.terms).limits = limits;
        self
    }

    /// The same with a codec, which must be that of the workers.
    #[must_use]
    pub fn with_codec(mut self, codec: Arc<dyn Codec>) -> Self {
        Arc::make_mut(&mut self.terms).codec = Some(codec);
        self
    }

    /// The same with another clock than the store's, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        Arc::make_mut(&mut self.terms).clock = clock;
        self
    }

    /// The same for commands that follow from `message`: where their options say nothing else, they
    /// belong to its conversation and its tenant, and name it as their cause.
    #[must_use]
    pub fn following(mut self, message: &Message) -> Self {
        self.origin = Some(Arc::new(Origin::of(message)));
        self
    }

    /// The same with another store, such as one known by type.
    #[must_use]
    pub fn with_store<T: ?Sized>(&self, store: Arc<T>) -> Scheduler<T> {
        Scheduler { store, terms: Arc::clone(&self.terms), origin: self.origin.clone() }
    }

    /// Where commands are stored.
    #[must_use]
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// How large a message may be.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.terms.limits
    }

    /// What payloads go through, if not plain JSON.
    #[must_use]
    pub fn codec(&self) -> Option<&dyn Codec> {
        self.terms.codec.as_deref()
    }

    /// Who says what time it is.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.terms.clock
    }

    /// Schedules within the caller's own transaction: what is scheduled is stored if and when the
    /// transaction commits.
    pub fn within<'t, Tx: TransactionOf<S>>(&self, transaction: &'t Tx) -> Tx::Within<'t> {
        transaction.within(self.clone())
    }

    /// Makes a command ready for a store, without storing it.
    ///
    /// # Errors
    /// When no store would take it.
    pub fn prepare<T: Contract>(
        &self,
        command: &T,
        options: ScheduleOptions,
    ) -> Result<Envelope, ScheduleError> {
        let options = match &self.origin {
            Some(origin) => origin.complete(options),
            None => options,
        };
        self.encoded(prepare(command, options, &self.terms.limits)?)
    }

    /// The envelope with its payload as the codec writes it, if it has not been written so.
    ///
    /// # Errors
    /// When the codec refuses, or what it writes is too large.
    pub fn encoded(&self, envelope: Envelope) -> Result<Envelope, ScheduleError> {
        super::prepare::encoded(envelope, self.codec(), &self.terms.limits)
    }

    /// The receipt for `envelope`, of which a store says that it was `accepted`.
    ///
    /// # Errors
    /// When its key had been accepted with another payload, and its options refuse that.
    pub fn receipt(
        &self,
        envelope: &Envelope,
        accepted: &Accepted,
    ) -> Result<Receipt, ScheduleError> {
        self.judge(envelope, accepted, |_, _| None)
    }

    /// The same for a command of type `T`, which also knows what older versions of it said.
    ///
    /// # Errors
    /// When its key had been accepted with another payload, and its options refuse that.
    pub fn receipt_of<T: Contract>(
        &self,
        envelope: &Envelope,
        accepted: &Accepted,
    ) -> Result<Receipt, ScheduleError> {
        self.judge(envelope, accepted, |version, payload| {
            T::decode(version, payload).ok()?.to_payload().ok()
        })
    }

    fn judge(
        &self,
        envelope: &Envelope,
        accepted: &Accepted,
        upgrade: fn(u32, &Payload) -> Option<Payload>,
    ) -> Result<Receipt, ScheduleError> {
        let first = match accepted {
            Accepted::New { accepted_at } => {
                let acceptance = Acceptance::Accepted;
                return Ok(Receipt::new(&envelope.message, *accepted_at, acceptance));
            }
            Accepted::Before(first) => first,
        };
        let codec = self.codec();
        let payload_matches = same_payload(codec, &envelope.message, &first.message, upgrade);
        if envelope.on_conflict == OnConflict::Refuse && !payload_matches {
            return Err(ScheduleError::Conflict {
                contract: envelope.message.contract.clone(),
                first: first.message.id,
            });
        }
        let acceptance = Acceptance::AlreadyAccepted { payload_matches };
        Ok(Receipt::new(&first.message, first.accepted_at, acceptance))
    }
}

impl<S: Writer> Scheduler<S> {
    /// The same scheduler, its store's type forgotten.
    #[must_use]
    pub fn erased(&self) -> Scheduler {
        self.with_store(Arc::clone(&self.store) as Arc<dyn Writer>)
    }
}

impl<S: ?Sized> Clone for Scheduler<S> {
    fn clone(&self) -> Self {
        let (store, terms) = (Arc::clone(&self.store), Arc::clone(&self.terms));
        Self { store, terms, origin: self.origin.clone() }
    }
}

impl<S: ?Sized> fmt::Debug for Scheduler<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("limits", &self.terms.limits).finish_non_exhaustive()
    }
}
