//! Programs that go on when their database comes back.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use inbox::schedule::ScheduleError;
use inbox::store::StoreError;

use crate::BoxError;

/// An outage that lasts longer is a failure of the test, however busy the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// The outages that a program gets over.
#[derive(Debug)]
pub struct Outages {
    notes: Option<PathBuf>,
}

impl Outages {
    /// Those that a store calls transient, each noted as a line of this file.
    #[must_use]
    pub fn noted_in(file: PathBuf) -> Self {
        Self { notes: Some(file) }
    }

    /// None: every error is final.
    #[must_use]
    pub fn none() -> Self {
        Self { notes: None }
    }

    /// Makes a call again until it passes. What would not pass by itself is an error at once.
    ///
    /// # Errors
    /// The call's own, unless it is transient.
    pub async fn outlast<T>(
        &self,
        mut call: impl AsyncFnMut() -> Result<T, inbox::Error>,
    ) -> Result<T, BoxError> {
        let begun = Instant::now();
        loop {
            let error = match call().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let (Some(transient), Some(file)) = (transient(&error), &self.notes) else {
                return Err(error.into());
            };
            let note = format!("{:?}: {transient}\n", transient.kind());
            let mut file = OpenOptions::new().create(true).append(true).open(file)?;
            file.write_all(note.as_bytes())?;
            if begun.elapsed() > PATIENCE {
                return Err(error.into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn transient(error: &inbox::Error) -> Option<&StoreError> {
    let (inbox::Error::Store(error) | inbox::Error::Schedule(ScheduleError::Store(error))) = error
    else {
        return None;
    };
    Some(error).filter(|error| error.is_transient())
}
