/// Why a handler is asked to stop. The first cause stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// The host shuts down: the delivery is given back, and the attempt does not count.
    Shutdown,
    /// The lease was lost: another worker may run the delivery by now, and nothing is settled.
    LeaseLost,
    /// Someone cancelled the delivery; of a batch, all of them.
    Operator,
    /// The call is over, for whoever still waits on its token.
    Over,
}
