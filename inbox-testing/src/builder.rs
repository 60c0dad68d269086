use std::fmt;
use std::sync::Arc;

use inbox_core::Timestamp;
use inbox_hosting::{Error, Inbox, InboxBuilder};
use inbox_sqlite::SqliteStore;

use crate::{TestClock, TestInbox};

type Say = Box<dyn FnOnce(InboxBuilder<SqliteStore>) -> InboxBuilder<SqliteStore> + Send>;

/// What a test says before its inbox starts.
#[derive(Default)]
#[must_use = "a builder does nothing until `.build()`"]
pub struct TestInboxBuilder {
    said: Vec<Say>,
}

impl TestInboxBuilder {
    /// Provides a value for handlers that take `State<T>`.
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.with(|builder| builder.state(state))
    }

    /// Says anything else that can be said to an inbox.
    pub fn with(
        mut self,
        say: impl FnOnce(InboxBuilder<SqliteStore>) -> InboxBuilder<SqliteStore> + Send + 'static,
    ) -> Self {
        self.said.push(Box::new(say));
        self
    }

    /// Checks everything, and starts the inbox.
    ///
    /// # Errors
    /// Lists every mistake there is.
    pub async fn build(self) -> Result<TestInbox, Error> {
        let store = inbox_sqlite::in_memory().await?;
        let clock = Arc::new(TestClock::new(Timestamp::now()));
        // One call after the other, in an order that a test can rely on.
        let builder = Inbox::builder(store).clock(Arc::clone(&clock) as _).concurrency(1);
        let builder = self.said.into_iter().fold(builder, |builder, say| say(builder));
        Ok(TestInbox::new(builder.build().await?, clock))
    }
}

impl fmt::Debug for TestInboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestInboxBuilder").finish_non_exhaustive()
    }
}
