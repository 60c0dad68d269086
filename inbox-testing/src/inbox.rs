use std::sync::Arc;
use std::time::Duration;

use inbox_core::Timestamp;
use inbox_core::contract::Contract;
use inbox_core::outcome::HandlerError;
use inbox_core::schedule::{Receipt, ScheduleOptions};
use inbox_hosting::{Inbox, PendingReport, RunNowError};
use inbox_sqlite::SqliteStore;

use crate::{TestClock, TestInboxBuilder};

/// Deliveries that no test runs in one go.
const FOR_EVER: u64 = 1_000_000;

/// An inbox for tests: a store in memory, a clock that stands still until it is moved, and nothing
/// that happens by itself.
///
/// Where something goes wrong that a test does not ask about, it panics and says what. A handler's
/// timeout runs by the runtime's clock, which `#[tokio::test(start_paused = true)]` pauses.
///
/// ```standalone_crate
/// use std::time::Duration;
/// use inbox::testing::{TestInbox, assert_scheduled};
/// use inbox::{Context, ScheduleOptions, handler, inbox_contract};
///
/// #[inbox_contract(name = "greet", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Greet { name: String }
///
/// #[inbox_contract(name = "remember", version = 1)]
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Remember { name: String }
///
/// #[handler(key = "greet")]
/// async fn greet(command: Greet, context: Context) -> Result<(), inbox::schedule::ScheduleError> {
///     let options = ScheduleOptions::new().delay(Duration::from_secs(60));
///     context.scheduler().schedule(Remember { name: command.name }, options).await?;
///     Ok(())
/// }
///
/// #[handler(key = "remember")]
/// async fn remember(command: Remember) {
///     println!("I remember {}", command.name);
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), inbox::Error> {
/// let inbox = TestInbox::builder().build().await?;
/// inbox.schedule(Greet { name: "you".to_owned() }).await;
/// assert_eq!(inbox.drain().await.completed, 1);
///
/// assert_scheduled!(inbox, Remember { name } if name == "you");
/// inbox.advance(Duration::from_secs(60));
/// assert_eq!(inbox.drain().await.completed, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TestInbox {
    inbox: Inbox<SqliteStore>,
    clock: Arc<TestClock>,
}

impl TestInbox {
    /// Starts an inbox of everything that is linked into this test.
    pub fn builder() -> TestInboxBuilder {
        TestInboxBuilder::default()
    }

    pub(crate) fn new(inbox: Inbox<SqliteStore>, clock: Arc<TestClock>) -> Self {
        Self { inbox, clock }
    }

    /// The inbox itself, with its scheduler and its store.
    #[must_use]
    pub fn inbox(&self) -> &Inbox<SqliteStore> {
        &self.inbox
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.moment()
    }

    /// Moves the clock on. What becomes due is run by the next [`drain`](Self::drain).
    pub fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Schedules a command without options.
    ///
    /// # Panics
    /// When it is not accepted.
    pub async fn schedule<T: Contract>(&self, command: T) -> Receipt {
        self.schedule_with(command, ScheduleOptions::new()).await
    }

    /// Schedules a command.
    ///
    /// # Panics
    /// When it is not accepted.
    pub async fn schedule_with<T: Contract>(
        &self,
        command: T,
        options: ScheduleOptions,
    ) -> Receipt {
        match self.inbox.scheduler().schedule(command, options).await {
            Ok(receipt) => receipt,
            Err(error) => panic!("a command of `{}` was not accepted: {error}", T::NAME),
        }
    }

    /// Runs everything that is due, and what that schedules for now, until nothing is left.
    ///
    /// # Panics
    /// When the store fails, or handlers schedule each other for ever.
    pub async fn drain(&self) -> PendingReport {
        match self.inbox.process_some(FOR_EVER).await {
            Ok(report) if report.leased < FOR_EVER => report,
            Ok(report) => panic!(
                "there is always more to run: do two handlers schedule each other? {report:?}"
            ),
            Err(error) => panic!("the store failed: {error}"),
        }
    }

    /// Runs one handler on a command, through everything that stands around it, and stores nothing
    /// of it. What the handler schedules is stored.
    ///
    /// # Errors
    /// When the handler fails.
    ///
    /// # Panics
    /// When there is no such handler, or it takes another contract.
    #[track_caller]
    pub fn run<T: Contract>(
        &self,
        key: &str,
        command: T,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send {
        // At once, so that the panic is shown where the test calls this.
        match self.inbox.registry().handler(key).map(|handler| handler.descriptor().contract.name) {
            Some(contract) if contract == T::NAME => {}
            Some(contract) => panic!("handler `{key}` takes `{contract}`, not `{}`", T::NAME),
            None => panic!("no handler answers to `{key}`: there are {:?}", self.inbox.registry()),
        }
        let (inbox, key) = (self.inbox.clone(), key.to_owned());
        async move {
            match inbox.run_now_on(&key, command, ScheduleOptions::new()).await {
                Ok(()) => Ok(()),
                Err(RunNowError::Failed { mut failures }) if failures.len() == 1 => {
                    failures.pop().map_or(Ok(()), |(_, error)| Err(error))
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
