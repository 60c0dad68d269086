use inbox_core::store::{StoreError, StoreErrorKind};
use uuid::Uuid;

/// An answer that is not to the claim that was sent: answers of this connection are shifted. No server does
/// that; a proxy or a pooler with a bug may. Nothing that is read from the connection can be trusted any more.
#[derive(Debug, thiserror::Error)]
#[error("claim {expected} was answered with {}", shown(.named.as_ref()))]
pub(crate) struct WrongAnswer {
    pub(crate) expected: Uuid,
    /// The claim that the answer names, if it names one.
    pub(crate) named: Option<Uuid>,
}

fn shown(named: Option<&Uuid>) -> String {
    named.map_or("what names no claim".to_owned(), |named| format!("that of claim {named}"))
}

impl From<WrongAnswer> for StoreError {
    /// As unknown as no answer at all: what was claimed is given back, and the connection is not used again.
    fn from(answer: WrongAnswer) -> Self {
        let message = "the connection answered a claim with the answer to another question, so nothing of it \
                       was run and the connection is closed: look for a proxy or a pooler between this \
                       program and the database that drops or reorders answers";
        Self::new(StoreErrorKind::TimedOut, message).caused_by(answer)
    }
}

/// Whether this is about an answer to another question.
pub(crate) fn is_wrong_answer(error: &StoreError) -> bool {
    let cause = std::error::Error::source(error);
    cause.is_some_and(<dyn std::error::Error>::is::<WrongAnswer>)
}
