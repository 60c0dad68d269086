use std::time::Duration;

use crate::contract::DecodeError;
use crate::error::{BoxError, Failure, Rejection};
use crate::message::MessageId;
use crate::panic::Panicked;
use crate::store::StoreError;

/// Why a run did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// The handler returned an error.
    #[error("the handler failed")]
    Failed(#[source] Failure),
    /// A stored payload cannot be read, so the handler never ran; trying it again with this program
    /// is no use. The other messages of a batch are not to blame.
    #[error("message {message_id} cannot be decoded")]
    Undecodable {
        /// The message.
        message_id: MessageId,
        /// What is wrong with it.
        #[source]
        error: DecodeError,
    },
    /// The stored row cannot be read, so the handler never ran: it is damaged, or its message is gone.
    #[error("the row of message {message_id} cannot be read: {reason}")]
    Unreadable {
        /// The message.
        message_id: MessageId,
        /// What is wrong with it.
        reason: String,
    },
    /// A layer around the handler failed, refused the run or cut it off.
    #[error("a layer around the handler failed")]
    Layer(#[source] BoxError),
    /// An argument could not be extracted, so the handler never ran.
    #[error("an argument of the handler could not be extracted")]
    Rejected(#[source] BoxError),
    /// The handler, or a layer around it, panicked. It was caught here and disturbs nothing else.
    #[error("the handler panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// The handler took longer than its `timeout`, and was dropped.
    #[error(
        "the handler was stopped after its timeout of {after:?}: raise `timeout` in its \
         `#[handler]`, or let it do less"
    )]
    TimedOut {
        /// The timeout.
        after: Duration,
    },
    /// The codec could not read the payload. Its keys may be there next time, so this is retried.
    #[error("the codec cannot read message {message_id}")]
    Codec {
        /// The message.
        message_id: MessageId,
        /// What the codec said.
        #[source]
        error: BoxError,
    },
    /// The handler ran in a transaction, and the lease of these messages was lost meanwhile. Nothing
    /// was committed, for no message of the run.
    #[error(
        "the lease was lost while the handler ran, so its transaction was rolled back: {}",
        listed(.message_ids)
    )]
    LeaseLost {
        /// The messages whose lease was lost.
        message_ids: Vec<MessageId>,
    },
    /// The handler ran in a transaction, and the answer to its commit was lost. If it was committed,
    /// its deliveries are settled with it, and no later write changes that.
    #[error("whether the handler's transaction was committed is not known")]
    Unsure(#[source] StoreError),
    /// The handler's transaction could not be begun for a reason that may pass, such as a database that
    /// restarts. The handler never ran.
    #[error("the handler's transaction could not be begun")]
    TransactionNotBegun(#[source] StoreError),
    /// The handler's transaction was rolled back because it met another one, or lost its connection: the
    /// run may pass if it is repeated. Holds what the run came to.
    #[error(transparent)]
    Conflict(Box<HandlerError>),
    /// A layer reported success although the handler was dropped, and its transaction with it. Nothing
    /// was committed.
    #[error(
        "the handler was dropped or left behind before it returned, and its transaction with it: let \
         the layer that cut it off answer an error"
    )]
    TransactionDropped,
    /// A handler of a batch, or a layer, answered for another number of commands than it was given.
    #[error(
        "the handler was given {given} commands and returned {returned} outcomes: return one for each \
         command, in order"
    )]
    WrongCount {
        /// The commands it was given.
        given: usize,
        /// The outcomes it returned.
        returned: usize,
    },
    /// Some commands of a batch cannot be decoded, and the run failed for the rest.
    #[error("{rest}")]
    InBatch {
        /// What the run came to for the rest.
        rest: Box<HandlerError>,
        /// The deliveries that cannot be decoded, by their position in the request.
        undecodable: Vec<(usize, HandlerError)>,
    },
}

fn listed(message_ids: &[MessageId]) -> String {
    let ids: Vec<_> = message_ids.iter().map(ToString::to_string).collect();
    format!("message {}", ids.join(", "))
}

impl From<Panicked> for HandlerError {
    fn from(Panicked(message): Panicked) -> Self {
        Self::Panicked { message }
    }
}

impl From<Rejection> for HandlerError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection.into_error())
    }
}

impl HandlerError {
    /// The error a layer answered: the handler's own if it only passed it on.
    #[must_use]
    pub fn from_layer(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => *own,
            Err(error) => Self::Layer(error),
        }
    }

    /// What went wrong, without what is said about it.
    #[must_use]
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Conflict(error) | Self::InBatch { rest: error, .. } => error.innermost(),
            error => error,
        }
    }

    /// The error that a handler, a layer or an extractor answered.
    #[must_use]
    pub fn answered(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        match self.innermost() {
            Self::Failed(failure) => Some(failure.error()),
            Self::Layer(error) | Self::Rejected(error) => Some(&**error),
            _ => None,
        }
    }

    /// The first `E` among the handler's error and its causes, outermost first: this is how error
    /// policies match by type.
    #[must_use]
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        let Self::Failed(failure) = self.innermost() else { return None };
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(failure.error());
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}
