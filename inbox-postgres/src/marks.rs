use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::store::Wanted;

/// A sweep that is faster is made whenever there is time for it.
const CHEAP: Duration = Duration::from_millis(5);

/// A slower one takes at most this share of the time.
const SHARE: u32 = 30;

/// Where claims of a handler start, one mark for each priority.
///
/// While someone holds a transaction open, the index keeps an entry for every row that was ever
/// claimed. A claim from the beginning would walk over all of them; one from where the last claim
/// found work walks over none. What appears behind a mark, because its transaction committed late or
/// its claim was rolled back, is found by a sweep from the beginning.
#[derive(Debug, Default)]
pub(crate) struct Marks(Mutex<HashMap<(String, Vec<u32>), Mark>>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    /// Claims find what is above, for each priority.
    pub(crate) low: [i64; 4],
    swept: Option<Sweep>,
}

#[derive(Debug, Clone, Copy)]
struct Sweep {
    ended: Instant,
    took: Duration,
}

/// Before the first row.
pub(crate) const BEGINNING: [i64; 4] = [i64::MIN; 4];

impl Mark {
    const FIRST: Self = Self { low: BEGINNING, swept: None };

    /// Whether a sweep would not cost more than it should.
    pub(crate) fn may_sweep(&self) -> bool {
        self.swept.is_none_or(|last| last.took < CHEAP || last.ended.elapsed() > last.took * SHARE)
    }
}

impl Marks {
    pub(crate) fn of(&self, wanted: &Wanted) -> Mark {
        self.lock().get(&key(wanted)).copied().unwrap_or(Mark::FIRST)
    }

    /// A claim found these rows, given as priority and number.
    pub(crate) fn found(&self, wanted: &Wanted, rows: impl Iterator<Item = (i16, i64)>) {
        let mut marks = self.lock();
        let mark = marks.entry(key(wanted)).or_insert(Mark::FIRST);
        for (priority, seq) in rows {
            let low = usize::try_from(priority).ok().and_then(|at| mark.low.get_mut(at));
            if let Some(low) = low {
                *low = seq.max(*low);
            }
        }
    }

    /// A sweep from the beginning took so long.
    pub(crate) fn swept(&self, wanted: &Wanted, took: Duration) {
        let sweep = Sweep { ended: Instant::now(), took };
        self.lock().entry(key(wanted)).or_insert(Mark::FIRST).swept = Some(sweep);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Vec<u32>), Mark>> {
        // Nothing is half-done when a holder panics: every change is one insert.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(wanted: &Wanted) -> (String, Vec<u32>) {
    (wanted.handler_key.clone(), wanted.versions.clone())
}
