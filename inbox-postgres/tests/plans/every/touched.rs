//! What a statement read, by the server's own count.

use std::collections::BTreeMap;

use inbox_postgres::tokio_postgres::Client;

/// For each table, with its indexes: the rows that scans went over, and the pages that were looked at.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeMap<String, (u64, u64)>);

/// Counts from within a transaction, which the server does not hand on before it ends. In the plan of a
/// statement, those parts are not in the sum that nobody reads from.
const COUNT: &str = "
    SELECT replace(of.relname, '_default', ''),
           sum(pg_stat_get_xact_tuples_returned(part.oid))::bigint,
           sum(pg_stat_get_xact_blocks_fetched(part.oid))::bigint
    FROM pg_class AS part
    LEFT JOIN pg_index ON indexrelid = part.oid
    JOIN pg_class AS of ON of.oid = coalesce(indrelid, part.oid)
    WHERE part.relnamespace = 'inbox'::regnamespace AND part.relkind IN ('r', 'i')
    GROUP BY of.relname";

async fn counted(client: &Client) -> BTreeMap<String, (i64, i64)> {
    let rows = client.query(COUNT, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect()
}

impl Touched {
    /// By this statement, which is undone.
    pub(super) async fn by(client: &Client, statement: &str) -> Self {
        client.batch_execute("BEGIN").await.unwrap();
        let before = counted(client).await;
        client.batch_execute(statement).await.unwrap();
        let after = counted(client).await;
        client.batch_execute("ROLLBACK").await.unwrap();
        let since = |(table, (rows, pages)): (String, (i64, i64))| {
            let (rows_before, pages_before) = before[&table];
            let count = |after: i64, before: i64| u64::try_from(after - before).unwrap();
            (table, (count(rows, rows_before), count(pages, pages_before)))
        };
        let touched = after.into_iter().map(since);
        Self(touched.filter(|(_, (rows, pages))| rows + pages > 0).collect())
    }

    /// One table: rows and pages.
    pub(super) fn of(&self, table: &str) -> (u64, u64) {
        self.0.get(table).copied().unwrap_or_default()
    }

    /// All but these tables, taken together: rows and pages.
    pub(super) fn but(&self, tables: &[&str]) -> (u64, u64) {
        let counted = self.0.iter().filter(|(table, _)| !tables.contains(&&***table));
        counted.fold((0, 0), |(rows, pages), (_, of)| (rows + of.0, pages + of.1))
    }
}
