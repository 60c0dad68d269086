/// What becomes of the deliveries behind one that is dead, where they share an ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDead {
    /// They wait until someone decides: retries the dead one, cancels it, or unblocks the lane.
    #[default]
    Block,
    /// The next one has its turn.
    Skip,
}
