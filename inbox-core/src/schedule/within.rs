use super::Scheduler;

/// A transaction that the caller began and in which the store `S` can accept.
#[diagnostic::on_unimplemented(
    message = "a store `{S}` cannot schedule within a `{Self}`",
    label = "not a transaction of this store",
    note = "begin a transaction on the store's own database: `tokio_postgres::Transaction` or \
            `deadpool_postgres::Transaction` for PostgreSQL, `rusqlite::Transaction` for SQLite",
    note = "`context.scheduler()` does not know its store by type: it joins a handler's own \
            `&mut inbox::postgres::Transaction`; for any other, take `State<Scheduler<PostgresStore>>`, \
            or `SqliteStore`, which every inbox provides"
)]
pub trait TransactionOf<S: ?Sized> {
    /// What schedules within the transaction.
    type Within<'t>
    where
        Self: 't;

    /// Begins to schedule within the transaction.
    fn within(&self, scheduler: Scheduler<S>) -> Self::Within<'_>;
}
