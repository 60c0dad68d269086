use inbox_core::store::{Accepted, Bell, Cancelled, DeliveryState, LeaseLost, Reclaimed};

/// What a verb answers that may make something ready.
pub(crate) trait Moved {
    fn is_any(&self) -> bool;
}

impl Moved for bool {
    fn is_any(&self) -> bool {
        *self
    }
}

impl Moved for u64 {
    fn is_any(&self) -> bool {
        *self > 0
    }
}

impl Moved for Reclaimed {
    /// What is dead or done may have held a lane, or room that others wait for.
    fn is_any(&self) -> bool {
        self.moved() > 0
    }
}

impl Moved for Cancelled {
    fn is_any(&self) -> bool {
        false
    }
}

/// An answer, and whether others may have their turn because something came to its end.
pub(crate) struct Turns<T> {
    pub(crate) answer: T,
    pub(crate) freed: bool,
}

impl<T: Moved> Moved for Turns<T> {
    fn is_any(&self) -> bool {
        self.freed || self.answer.is_any()
    }
}

impl Moved for Vec<Accepted> {
    /// What is for later counts: workers look again when the first of it is due.
    fn is_any(&self) -> bool {
        self.iter().any(|one| matches!(one, Accepted::New { .. }))
    }
}

impl Moved for Vec<Result<DeliveryState, LeaseLost>> {
    /// What was given back, and what waits now for another attempt.
    fn is_any(&self) -> bool {
        let moved = [DeliveryState::Pending, DeliveryState::Waiting];
        self.iter().any(|settled| settled.is_ok_and(|state| moved.contains(&state)))
    }
}

/// Rings when what moved something is committed, whether or not anyone waits for it still.
pub(crate) struct Rings<T> {
    bell: Bell,
    is_any: fn(&T) -> bool,
}

impl<T: Moved> Rings<T> {
    pub(crate) fn new(bell: &Bell) -> Self {
        Self { bell: bell.clone(), is_any: T::is_any }
    }
}

impl<T> Rings<T> {
    pub(crate) fn committed(&self, answer: &T) {
        if (self.is_any)(answer) {
            self.bell.ring();
        }
    }
}
