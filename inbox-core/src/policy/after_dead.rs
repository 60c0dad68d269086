/// What becomes of the deliveries behind one that is dead, where they share an ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AfterDead {
    /// They wait until someone decides: retries the dead one, cancels it, or lets the next one pass.
    #[default]
    Block,
    /// The next one has its turn.
    Pass,
}
