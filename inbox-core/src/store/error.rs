use crate::error::BoxError;

/// A store could not do what it was asked.
///
/// The message says what to do about it; [`kind`](Self::kind) is for programs.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    #[source]
    source: Option<BoxError>,
}

/// What kept a store from its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Others held what was needed for too long. Nothing was changed; the same call may pass later.
    Busy,
    /// There was no answer in time. Whether the change happened is not known.
    TimedOut,
    /// The store may be read but not written.
    ReadOnly,
    /// There is no room left.
    Full,
    /// The store cannot be reached or opened.
    CannotOpen,
    /// The schema is missing, or of another version than this program.
    Schema,
    /// What is stored is damaged, or no store of ours.
    Corrupt,
    /// A handler key takes another contract in this store.
    KeyTaken,
    /// The store belongs to another bounded context.
    ContextTaken,
    /// The contract has no route with this handler key.
    NoSuchRoute,
    /// The store was closed.
    Closed,
    /// Anything else.
    Other,
}

impl StoreError {
    /// An error that says `message`.
    #[must_use]
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same, caused by `source`.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A handler key was to be registered for `contract` that takes the contract `taken_by`.
    #[must_use]
    pub fn key_taken(handler_key: &str, contract: &str, taken_by: &str) -> Self {
        let message = format!(
            "handler key `{handler_key}` takes contract `{taken_by}` in this store, and a key is \
             for one contract: give the handler of `{contract}` another key; nothing was registered"
        );
        Self::new(StoreErrorKind::KeyTaken, message)
    }

    /// Routes of `context` were to be registered beside one of `taken_by`, that of `handler_key`.
    #[must_use]
    pub fn context_taken(context: &str, taken_by: &str, handler_key: &str) -> Self {
        let named = |context: &str| match context {
            "" => "no context".to_owned(),
            name => format!("context `{name}`"),
        };
        let message = format!(
            "handlers of {} cannot be registered beside handler key `{handler_key}` of {}: two \
             bounded contexts on one schema would take each other's messages; give each a schema or \
             a file of its own (`PostgresOptions::schema`), or, if the context was renamed, update \
             column `context` of table `route` (`inbox_route` in SQLite); nothing was registered",
            named(context),
            named(taken_by)
        );
        Self::new(StoreErrorKind::ContextTaken, message)
    }

    /// A route was to be changed that `contract` does not have, beside those of the `known` keys.
    #[must_use]
    pub fn no_such_route<'a>(
        contract: &str,
        handler_key: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<_> = known.into_iter().map(|key| format!("`{key}`")).collect();
        let message = match known.is_empty() {
            true => format!(
                "no handler key takes contract `{contract}` in this store, so there is no route \
                 `{handler_key}` to change: check the contract's name, or start a program that handles it; \
                 nothing was changed"
            ),
            false => format!(
                "handler key `{handler_key}` has no route for contract `{contract}` in this store: \
                 write one of {}; nothing was changed",
                known.join(", ")
            ),
        };
        Self::new(StoreErrorKind::NoSuchRoute, message)
    }

    /// What kept the store from its work.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same call may pass if it is simply made again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Busy | StoreErrorKind::TimedOut)
    }
}
