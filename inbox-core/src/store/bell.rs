use tokio::sync::watch;

/// Rung in this process whenever something may have become ready, so that workers need not ask all
/// the time. Clones are one bell.
#[derive(Debug, Clone, Default)]
pub struct Bell(watch::Sender<u64>);

impl Bell {
    /// Tells every listener. However often it is rung before one of them looks, that one hears it
    /// once.
    pub fn ring(&self) {
        self.0.send_modify(|rung| *rung = rung.wrapping_add(1));
    }

    /// Someone who hears what is rung from now on.
    #[must_use]
    pub fn listener(&self) -> BellListener {
        BellListener(self.0.subscribe())
    }
}

/// Hears a [`Bell`].
#[derive(Debug, Clone)]
pub struct BellListener(watch::Receiver<u64>);

impl BellListener {
    /// Waits until the bell is rung, unless it was since this was last called. If the future is
    /// dropped, nothing is missed.
    pub async fn heard(&mut self) {
        if self.0.changed().await.is_err() {
            // The bell is gone, and nobody will ever ring it.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn hears(listener: &mut BellListener) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(pin!(listener.heard()).poll(&mut context), Poll::Ready(()))
    }

    #[test]
    fn what_is_rung_before_one_listens_is_heard_once() {
        let bell = Bell::default();
        let mut listener = bell.listener();
        assert!(!hears(&mut listener));
        bell.ring();
        bell.clone().ring();
        assert!(hears(&mut listener));
        assert!(!hears(&mut listener));
    }

    #[test]
    fn a_bell_that_is_gone_is_silent() {
        let mut listener = Bell::default().listener();
        assert!(!hears(&mut listener));
    }
}
