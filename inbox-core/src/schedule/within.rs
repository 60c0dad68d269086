use super::Scheduler;

/// A store that can accept within a transaction of type `Tx` which the caller began.
#[diagnostic::on_unimplemented(
    message = "the store `{Self}` cannot schedule within a `{Tx}`",
    label = "not a transaction of this store",
    note = "begin a transaction on the store's own database: `rusqlite::Transaction` for SQLite",
    note = "a scheduler whose store is not known by type, such as a handler's, joins none"
)]
pub trait Joins<Tx> {
    /// What schedules within the transaction.
    type Joined<'t>
    where
        Tx: 't;

    /// Begins to schedule within `transaction`.
    fn join(scheduler: Scheduler<Self>, transaction: &Tx) -> Self::Joined<'_>;
}
