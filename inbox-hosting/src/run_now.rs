use std::sync::Arc;

use inbox_core::Timestamp;
use inbox_core::contract::Contract;
use inbox_core::dispatch::Pipeline;
use inbox_core::message::Delivery;
use inbox_core::outcome::HandlerError;
use inbox_core::request::{Attempt, Request};
use inbox_core::schedule::{ScheduleError, ScheduleOptions, prepare};
use inbox_core::settle::ErrorReport;
use inbox_core::store::Store;

use crate::Inbox;

/// A command that was run at once did not succeed everywhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunNowError {
    /// It would not have been accepted by a store either.
    #[error(transparent)]
    Refused(#[from] ScheduleError),
    /// No handler of this program takes it.
    #[error(
        "no handler of this program takes version {version} of contract `{contract}`: link the \
         crate that has one, `use my_handlers as _;`, or schedule the command for a program that has"
    )]
    NoHandler {
        /// The contract's name.
        contract: &'static str,
        /// The contract's version.
        version: u32,
    },
    /// No handler of this program answers to the key.
    #[error("no handler of this program answers to `{key}`: there are {}", .known.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys there are.
        known: Vec<&'static str>,
    },
    /// The handler takes another contract.
    #[error("the handler `{key}` takes contract `{takes}`, not `{given}`")]
    OtherContract {
        /// The handler's key.
        key: String,
        /// The contract it takes.
        takes: &'static str,
        /// The contract it was given.
        given: &'static str,
    },
    /// Some of its handlers failed; the others ran.
    #[error("{}", listed(.failures))]
    Failed {
        /// The keys of the handlers that failed, each with its error.
        failures: Vec<(&'static str, HandlerError)>,
    },
}

fn listed(failures: &[(&'static str, HandlerError)]) -> String {
    let each = failures
        .iter()
        .map(|(key, error)| format!("handler `{key}` failed: {}", ErrorReport::from(error)));
    each.collect::<Vec<_>>().join("; ")
}

impl<S: Store> Inbox<S> {
    /// Runs the handlers of `command` at once, through the same pipeline as if it had been stored,
    /// and stores nothing: no receipt, no second attempt. Every handler runs, whatever the others
    /// do.
    ///
    /// # Errors
    /// When there is no handler, or one of them fails.
    pub async fn run_now<T: Contract>(&self, command: T) -> Result<(), RunNowError> {
        self.run_now_with(command, ScheduleOptions::new()).await
    }

    /// The same, with the ids, the tenant and the headers of `options` for the handler to see.
    ///
    /// # Errors
    /// When there is no handler, or one of them fails.
    pub async fn run_now_with<T: Contract>(
        &self,
        command: T,
        options: ScheduleOptions,
    ) -> Result<(), RunNowError> {
        let handlers: Vec<_> = self.parts().handlers.of(T::NAME, T::VERSION).collect();
        if handlers.is_empty() {
            return Err(RunNowError::NoHandler { contract: T::NAME, version: T::VERSION });
        }
        self.run_on(handlers, &command, options).await
    }

    /// The same for one handler: the one that answers to `key`.
    ///
    /// # Errors
    /// When there is no such handler, or it fails.
    pub async fn run_now_on<T: Contract>(
        &self,
        key: &str,
        command: T,
        options: ScheduleOptions,
    ) -> Result<(), RunNowError> {
        match self.parts().handlers.get(key) {
            Some(handler) if handler.descriptor().contract.name != T::NAME => {
                Err(RunNowError::OtherContract {
                    key: key.to_owned(),
                    takes: handler.descriptor().contract.name,
                    given: T::NAME,
                })
            }
            Some(handler) => self.run_on(vec![handler], &command, options).await,
            None => Err(RunNowError::UnknownKey {
                key: key.to_owned(),
                known: self.parts().handlers.keys().collect(),
            }),
        }
    }

    /// Runs `handlers` one after the other. Prepared before anything is waited for, so that the
    /// command itself need not be shareable between threads.
    fn run_on<'a, T: Contract>(
        &'a self,
        handlers: Vec<&'a Arc<Pipeline>>,
        command: &T,
        options: ScheduleOptions,
    ) -> impl Future<Output = Result<(), RunNowError>> + Send + use<'a, T, S> {
        let parts = self.parts();
        let envelope = prepare(command, options, parts.scheduler.limits());
        async move {
            let message = envelope?.message;
            let accepted_at = parts.scheduler.clock().now().or_else(Timestamp::now);
            let mut failures = Vec::new();
            for pipeline in handlers {
                let key = pipeline.descriptor().key;
                let delivery = Delivery::first(message.clone(), accepted_at, key);
                let attempt = Attempt::unstored(delivery);
                let request = Request::new(attempt, Vec::new(), parts.erased.clone());
                if let Some(error) = pipeline.run(request).await.into_error() {
                    failures.push((key, error));
                }
            }
            match failures.is_empty() {
                true => Ok(()),
                false => Err(RunNowError::Failed { failures }),
            }
        }
    }
}
