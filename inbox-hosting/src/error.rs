use std::error::Error as _;
use std::fmt;

use inbox_core::registry::RegistryError;
use inbox_core::schedule::ScheduleError;
use inbox_core::store::StoreError;

use crate::{HostError, RunNowError};

/// Anything that can go wrong between a program and its inbox: what `main` returns.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is wrong with contracts, handlers or options.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A command was not accepted.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A command was run at once, and failed.
    #[error(transparent)]
    RunNow(#[from] RunNowError),
    /// The host could not be started.
    #[error(transparent)]
    Host(#[from] HostError),
}

// `fn main() -> Result<(), inbox::Error>` shows this: it must tell the whole story.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\n  caused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
