//! Every statement that workers, chores and schedulers run: planned on empty tables, and run on full ones. So
//! it happens to whoever starts with an empty database: a connection keeps its plans for as long as it lives.

mod cases;
mod full;
mod touched;

use std::collections::BTreeSet;

use inbox_postgres::tokio_postgres::Client;
use inbox_testing::postgres::PostgresDatabase;

use crate::database::database;
use crate::plan::SESSION;
use crate::statements::{names, text};

use cases::{Case, LEFT_OUT, cases};
use touched::Touched;

/// What the settlement of a handler's transaction says where it does not find all.
const NOT_ALL: &str = "IB002";

/// Prepares the statements as the store's own connections do, and runs each once, so that it has its plan.
async fn plan(client: &Client, cases: &[Case]) {
    // What `lane_lock_held` leaves to `lane_end_held`: a hundred lanes of which a run is on.
    let lanes = "SELECT set_config('inbox.lanes', jsonb_agg(name)::text, false)
                 FROM (SELECT 'ship' AS first_key, '' AS tenant, 'lane-' || n AS ordering_key
                       FROM generate_series(1, 100) AS n) AS name";
    for sql in [SESSION.as_str(), "SET inbox.transaction = 'mark'", lanes] {
        client.batch_execute(sql).await.unwrap();
    }
    for name in cases.iter().map(|case| case.name).collect::<BTreeSet<_>>() {
        let prepare = format!("PREPARE {name} AS {}", text(name));
        client.batch_execute(&prepare).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    for case in cases {
        client.batch_execute("BEGIN").await.unwrap();
        if let Err(error) = client.batch_execute(&case.execute()).await {
            let is_not_all = error.code().is_some_and(|said| said.code() == NOT_ALL);
            assert!(is_not_all, "{}: {error:?}", case.name);
        }
        client.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// What is wrong with a statement, if it read more than it may.
async fn judge(client: &Client, case: &Case) -> Option<String> {
    // The first run also meets what statements before it left when they were undone, and marks it as gone.
    Touched::by(client, &case.execute()).await;
    let touched = Touched::by(client, &case.execute()).await;
    let wrong = case.judge(&touched)?;
    client.batch_execute("BEGIN").await.unwrap();
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {}", case.execute());
    let plan = client.query(&explain, &[]).await.unwrap();
    client.batch_execute("ROLLBACK").await.unwrap();
    let plan = plan.iter().map(|row| row.get::<_, String>(0) + "\n").collect::<String>();
    Some(format!("{wrong}:\n{plan}"))
}

/// In which way tables are empty when statements are planned.
#[derive(Clone, Copy)]
enum Empty {
    /// Nothing is known of them: PostgreSQL takes them for small.
    Unknown,
    /// All are known to be empty.
    Known,
    /// Those are where work comes and goes, and the others are known to be full.
    Idle,
    /// The same, after all were full: then indexes are large still.
    Drained,
}

impl Empty {
    /// A connection that planned when tables were so, and finds them full.
    async fn and_full_then(self, cases: &[Case]) -> (PostgresDatabase, Client) {
        let (database, client) = database().await;
        // As `bulk_stage` makes it, but to stay.
        let stage = text("bulk_stage").replace("ON COMMIT DROP", "");
        client.batch_execute(&stage).await.unwrap();
        match self {
            Self::Unknown => {}
            Self::Known => client.batch_execute("ANALYZE").await.unwrap(),
            Self::Idle => {
                full::history(&client).await;
                client.batch_execute("ANALYZE").await.unwrap();
            }
            Self::Drained => {
                full::history(&client).await;
                full::work(&client).await;
                full::drain(&client).await;
            }
        }
        plan(&client, cases).await;
        if matches!(self, Self::Unknown | Self::Known) {
            full::history(&client).await;
        }
        full::work(&client).await;
        (database, client)
    }
}

async fn reads_what_it_moves(empty: Empty) {
    let cases = cases();
    let (_database, client) = empty.and_full_then(&cases).await;
    let mut wrong = Vec::new();
    for case in &cases {
        wrong.extend(judge(&client, case).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_was_planned_on_new_tables_reads_of_full_ones_what_it_moves() {
    reads_what_it_moves(Empty::Unknown).await;
}

#[tokio::test]
async fn what_was_planned_on_tables_known_to_be_empty_reads_of_full_ones_what_it_moves() {
    reads_what_it_moves(Empty::Known).await;
}

#[tokio::test]
async fn what_was_planned_before_there_was_work_reads_of_much_of_it_what_it_moves() {
    reads_what_it_moves(Empty::Idle).await;
}

#[tokio::test]
async fn what_was_planned_after_all_work_was_done_reads_of_much_of_it_what_it_moves() {
    reads_what_it_moves(Empty::Drained).await;
}

#[test]
fn every_statement_is_among_them_or_it_is_said_why_not() {
    let here: BTreeSet<_> = cases().iter().map(|case| case.name.to_owned()).collect();
    let left_out: BTreeSet<_> = LEFT_OUT.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(here.is_disjoint(&left_out), "{:?}", &here & &left_out);
    assert_eq!(&here | &left_out, names());
}
