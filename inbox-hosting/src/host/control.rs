use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::board::Board;
use super::{Health, HostPhase, Load};
use crate::port::{Meter, MeterReading};

/// What a host obeys, and where it says how it is.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) phase: watch::Sender<HostPhase>,
    pub(crate) paused: watch::Sender<bool>,
    pub(crate) load: watch::Sender<Load>,
    /// Whether the pump holds nothing, and will not lease either.
    pub(crate) rests: watch::Sender<bool>,
    pub(crate) board: Board,
    pub(crate) meter: Arc<Meter>,
}

impl Control {
    pub(crate) fn new(stall_after: Duration, meter: Arc<Meter>) -> Self {
        Self {
            phase: watch::Sender::default(),
            paused: watch::Sender::default(),
            load: watch::Sender::default(),
            rests: watch::Sender::default(),
            board: Board::new(stall_after),
            meter,
        }
    }
}

/// What ends one host: until when its handlers may go on, once it is to stop. Each start has its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(watch::Sender<Option<Instant>>);

impl Stop {
    /// Tells the host to stop, and lets handlers go on for so long; never longer than was said before.
    pub(crate) fn within(&self, time: Duration) {
        let now = Instant::now();
        // A time that no clock can show is as good as a month.
        let deadline = now.checked_add(time).unwrap_or(now + Duration::from_hours(24 * 30));
        self.0.send_if_modified(|stop| {
            let is_earlier = stop.is_none_or(|known| deadline < known);
            if is_earlier {
                *stop = Some(deadline);
            }
            is_earlier
        });
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Instant>> {
        self.0.subscribe()
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until the host is told to stop.
    pub(crate) async fn asked(&self) {
        // An error would mean that the sender is gone, and it is held here.
        let _ = self.subscribe().wait_for(Option::is_some).await;
    }
}

/// Looks after a host while it runs, from anywhere: `inbox.control()`. Clones are one.
#[derive(Clone)]
pub struct HostControl(Arc<Control>);

impl HostControl {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        Self(control)
    }

    /// How the host is. Asks nobody and never waits.
    #[must_use]
    pub fn health(&self) -> Health {
        Health {
            phase: *self.0.phase.borrow(),
            paused: *self.0.paused.borrow(),
            load: *self.0.load.borrow(),
            loops: self.0.board.read(),
        }
    }

    /// What this inbox has asked of its store, by verb, since it was built. Asks nobody and never waits.
    #[must_use]
    pub fn meter(&self) -> MeterReading {
        self.0.meter.read()
    }

    /// Leases nothing more until it is resumed. What the host holds is finished.
    pub fn pause(&self) {
        self.0.paused.send_replace(true);
    }

    /// Leases again.
    pub fn resume(&self) {
        self.0.paused.send_replace(false);
    }

    /// Pauses, and waits until the host holds nothing. Answers whether it came to that: not if
    /// someone resumed it before.
    ///
    /// If the future is dropped, the host stays paused.
    pub async fn drain(&self) -> bool {
        self.pause();
        let mut paused = self.0.paused.subscribe();
        let mut rests = self.0.rests.subscribe();
        let mut phase = self.0.phase.subscribe();
        loop {
            let phase_now = *phase.borrow_and_update();
            let is_over = phase_now == HostPhase::New || phase_now == HostPhase::Stopped;
            if *rests.borrow_and_update() || is_over {
                return true;
            }
            if !*paused.borrow_and_update() {
                return false;
            }
            // An error would mean that the host's state is gone, and it is held here.
            let _ = tokio::select! {
                changed = paused.changed() => changed,
                changed = rests.changed() => changed,
                changed = phase.changed() => changed,
            };
        }
    }
}

impl fmt::Debug for HostControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostControl").field(&self.health()).finish()
    }
}
