use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inbox_core::store::StoreError;
use tokio::time::Instant;

use super::{HostLoop, LoopHealth};

/// Where the loops of a host say how they are.
#[derive(Debug)]
pub(crate) struct Board {
    stall_after: Duration,
    loops: Mutex<Vec<(HostLoop, Entry)>>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// How often it comes around when there is nothing to do.
    period: Duration,
    /// When it last came around.
    ticked: Instant,
    /// What went wrong last, if nothing has gone well since.
    error: Option<String>,
}

/// What is wrong with a loop that has just begun.
const NEW: &str = "not around yet";

impl Board {
    pub(crate) fn new(stall_after: Duration) -> Self {
        Self { stall_after, loops: Mutex::default() }
    }

    /// These loops begin, and no others; each comes around this often when there is nothing to do.
    pub(crate) fn begin(&self, loops: impl IntoIterator<Item = (HostLoop, Duration)>) {
        let ticked = Instant::now();
        let entry = |period| Entry { period, ticked, error: Some(NEW.to_owned()) };
        let loops = loops.into_iter().map(|(name, period)| (name, entry(period)));
        *self.lock() = loops.collect();
    }

    /// A loop came around, and all is well with it.
    pub(crate) fn well(&self, name: HostLoop) {
        let mut was_ill = false;
        self.note(name, |entry| {
            entry.ticked = Instant::now();
            was_ill = entry.error.take().is_some_and(|error| error != NEW);
        });
        if was_ill {
            tracing::info!("the host's {name} works again");
        }
    }

    /// A loop came around, and it was too early for its work. What went wrong before may still be wrong.
    pub(crate) fn around(&self, name: HostLoop) {
        self.note(name, |entry| {
            entry.ticked = Instant::now();
            entry.error.take_if(|error| error == NEW);
        });
    }

    /// A loop came around, and could not do its work.
    pub(crate) fn ill(&self, name: HostLoop, error: impl Into<String>) {
        let error = error.into();
        self.note(name, |entry| {
            entry.ticked = Instant::now();
            entry.error = Some(error);
        });
    }

    /// The same, and says so in the log.
    pub(crate) fn failed(&self, name: HostLoop, error: &StoreError) {
        let text = error.to_string();
        // Once, and not for as long as an outage lasts.
        let known =
            self.lock().iter().any(|(of, entry)| *of == name && entry.error == Some(text.clone()));
        match known {
            true => tracing::debug!(%error, "the host's {name} still cannot do its work"),
            false => tracing::warn!(%error, "the host's {name} cannot do its work at the moment"),
        }
        self.ill(name, text);
    }

    /// How every loop is.
    pub(crate) fn read(&self) -> Vec<LoopHealth> {
        let read = |(name, entry): &(HostLoop, Entry)| {
            let ago = entry.ticked.elapsed();
            let stalled = || format!("has not come around for {ago:.1?}");
            let error = entry.error.clone();
            let longest = self.stall_after.saturating_add(entry.period);
            let error = error.or_else(|| (ago > longest).then(stalled));
            LoopHealth { name: *name, last_round: ago, error }
        };
        self.lock().iter().map(read).collect()
    }

    fn note(&self, name: HostLoop, note: impl FnOnce(&mut Entry)) {
        if let Some((_, entry)) = self.lock().iter_mut().find(|(of, _)| *of == name) {
            note(entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(HostLoop, Entry)>> {
        // Nothing is half-done when a holder panics: every change is an assignment.
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
