use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// What is wrong with the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// Everything arrives, so much later.
    Delay(Duration),
    /// Connections are reset, old and new ones.
    Reset,
    /// Nothing arrives, in either direction, and nobody is told. When this is over, connections that
    /// lost something are reset.
    BlackHole,
    /// What clients send arrives, and what the server answers does not. When this is over, connections
    /// that lost something are reset.
    HalfOpen,
}

/// Which answer is to be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lose {
    Next,
    /// The one to a request that contains these bytes.
    To(Vec<u8>),
    /// The request itself that contains these bytes.
    Before(Vec<u8>),
}

/// What all connections obey.
#[derive(Debug)]
pub(super) struct Control {
    /// Where connections lead to; one that led elsewhere is reset.
    pub(super) target: watch::Sender<SocketAddr>,
    pub(super) fault: watch::Sender<Fault>,
    lose: Mutex<Option<Lose>>,
    lost: AtomicU64,
    swallowed: AtomicU64,
    requests: AtomicU64,
    /// What becomes of the network when so many requests have come.
    breaks: Mutex<Option<(u64, Fault)>>,
}

impl Control {
    pub(super) fn new(target: SocketAddr) -> Self {
        let (target, fault) = (watch::Sender::new(target), watch::Sender::new(Fault::None));
        Self {
            target,
            fault,
            lose: Mutex::default(),
            lost: AtomicU64::default(),
            swallowed: AtomicU64::default(),
            requests: AtomicU64::default(),
            breaks: Mutex::default(),
        }
    }

    pub(super) fn break_at(&self, requests: u64, fault: Fault) {
        *held(&self.breaks) = Some((requests, fault));
    }

    /// A client has sent something. The network may break with it.
    pub(super) fn request(&self) {
        let count = self.requests.fetch_add(1, Ordering::SeqCst);
        let broken = held(&self.breaks).take_if(|(at, _)| *at <= count);
        if let Some((_, fault)) = broken {
            self.fault.send_replace(fault);
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub(super) fn lose_next(&self) {
        *self.lose() = Some(Lose::Next);
    }

    pub(super) fn lose_to(&self, text: &str) {
        *self.lose() = Some(Lose::To(text.as_bytes().to_vec()));
    }

    pub(super) fn cut_before(&self, text: &str) {
        *self.lose() = Some(Lose::Before(text.as_bytes().to_vec()));
    }

    /// Whether the connection is to be reset instead of carrying this request. Said once.
    pub(super) fn cuts(&self, request: &[u8]) -> bool {
        let mut lose = self.lose();
        let concerned = matches!(&*lose, Some(Lose::Before(text)) if contains(request, text));
        if concerned {
            *lose = None;
        }
        concerned
    }

    /// Why the answer to this request is to be lost, if it is. Said once.
    pub(super) fn loses(&self, request: &[u8]) -> Option<Lose> {
        self.lose().take_if(|lose| match lose {
            Lose::Before(_) => false,
            Lose::Next => true,
            Lose::To(text) => contains(request, text),
        })
    }

    /// The request had no answer, such as one to cancel another: the next one is meant, unless the test has
    /// changed its mind.
    pub(super) fn loses_still(&self, lose: Lose) {
        self.lose().get_or_insert(lose);
    }

    pub(super) fn count(&self) {
        self.lost.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn swallow(&self) {
        self.swallowed.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn swallowed(&self) -> u64 {
        self.swallowed.load(Ordering::SeqCst)
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }

    fn lose(&self) -> MutexGuard<'_, Option<Lose>> {
        held(&self.lose)
    }
}

pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is half-done when a holder panics: every change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn contains(request: &[u8], text: &[u8]) -> bool {
    request.windows(text.len()).any(|part| part == text)
}
