use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inbox::Timestamp;
use inbox::store::{Clock, Now};
use inbox_tests::stale::{Manner, Outcome};

/// What a handler does when its turn comes.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) manner: Manner,
    pub(crate) outcome: Outcome,
}

impl Turn {
    pub(crate) async fn run(&self) -> Result<(), String> {
        match self.manner {
            Manner::Waits | Manner::Holds => tokio::task::spawn_blocking(pause)
                .await
                .map_err(|error| format!("the pause failed: {error}"))?,
            Manner::Blocks => pause(),
            Manner::Takes => {}
        }
        match self.outcome {
            Outcome::Success => Ok(()),
            Outcome::Error => Err("as told".to_owned()),
            Outcome::Panic => panic!("as told"),
        }
    }
}

/// Whether the pause is over.
static IS_LATER: AtomicBool = AtomicBool::new(false);

pub(crate) fn pause() {
    println!("running");
    // The end of the input would do as well: then nobody waits for an answer.
    let _ = std::io::stdin().read_line(&mut String::new());
    IS_LATER.store(true, Ordering::SeqCst);
}

/// After the pause it is an hour later: what had to be handled by then has expired.
pub(crate) struct LaterClock;

impl Clock for LaterClock {
    fn now(&self) -> Now {
        match IS_LATER.load(Ordering::SeqCst) {
            true => Now::At(Timestamp::now().saturating_add(Duration::from_hours(1))),
            false => Now::OfStore,
        }
    }
}
