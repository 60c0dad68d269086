//! How statements are planned, and what a run of them touches.

use std::sync::LazyLock;

use inbox_testing::postgres::PostgresDatabase;

use crate::statements::Asked;

/// The settings of the store's own connections.
pub(crate) static SESSION: LazyLock<String> = LazyLock::new(|| settings(&planning::OURS));

/// The settings for lists.
pub(crate) static LISTS: LazyLock<String> = LazyLock::new(|| settings(&planning::LISTS));

#[path = "../../src/client/planning.rs"]
mod planning;

fn settings(settings: &[(&str, &str)]) -> String {
    let set = settings.iter().map(|(name, value)| format!("SET {name} = {value};"));
    set.collect::<Vec<_>>().concat()
}

/// How connections may plan: as the store's own do; the same, but each call anew; and as PostgreSQL
/// does for anyone, once it has turned the statement generic and before.
pub(crate) static PLANNERS: LazyLock<[&str; 4]> = LazyLock::new(|| {
    [
        &SESSION,
        "SET plan_cache_mode = force_custom_plan; SET enable_bitmapscan = off; SET enable_seqscan = off",
        "SET plan_cache_mode = force_generic_plan",
        "SET plan_cache_mode = force_custom_plan",
    ]
});

/// Tables that grow. The others hold a row for each handler, or for what is at work.
const LARGE: [&str; 6] = ["message", "ready", "waiting", "done", "dead", "lane"];

/// A plan that reads too much does so in each of so many runs. The server adds to a run what it reads of its
/// own catalogue, whenever so many tables were made and dropped meanwhile, by whomever, that it forgot all.
const RUNS: usize = 3;

/// The plan of a statement; with `ANALYZE` it is run, and undone. Of several runs, the one that touched the
/// fewest pages.
pub(crate) async fn plan(
    database: &PostgresDatabase,
    planner: &str,
    Asked { text, arguments }: &Asked,
    explain: &str,
) -> String {
    let client = database.connect().await.unwrap();
    for sql in [planner, &format!("PREPARE statement AS {text}")] {
        client.batch_execute(sql).await.unwrap();
    }
    let explain = format!("EXPLAIN ({explain}) EXECUTE statement({arguments})");
    let mut plans = Vec::new();
    for _ in 0..RUNS {
        client.batch_execute("BEGIN").await.unwrap();
        let rows = client.query(&explain, &[]).await.unwrap();
        client.batch_execute("ROLLBACK").await.unwrap();
        plans.push(rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect::<String>());
    }
    plans.into_iter().min_by_key(|plan| touched(plan)).unwrap()
}

/// The pages that a statement touched: the first line counts all. How many of them the statement had to
/// write for others is not its doing: the server's other processes may be late.
pub(crate) fn pages(plan: &str) -> u64 {
    touched(plan).unwrap()
}

/// The same, of a plan that may not count any.
fn touched(plan: &str) -> Option<u64> {
    let buffers = plan.lines().find(|line| line.contains("Buffers: shared"))?;
    let count = |word: &str| -> Option<u64> {
        word.strip_prefix("hit=").or(word.strip_prefix("read="))?.parse().ok()
    };
    Some(buffers.split([' ', ',']).filter_map(count).sum())
}

pub(crate) fn reads_all_of_a_large_table(plan: &str) -> bool {
    scans_a_large_table(plan, "Seq Scan on ")
}

/// Whether a large table is read in the order of its pages, and so all that fits before the first of it. The few
/// lanes of a lease may be.
pub(crate) fn reads_a_large_table_by_pages(plan: &str) -> bool {
    let plan = plan.replace("Bitmap Heap Scan on lane", "");
    scans_a_large_table(&plan, "Bitmap Heap Scan on ")
}

fn scans_a_large_table(plan: &str, scan: &str) -> bool {
    let scans =
        |line: &str, table: &&str| line.contains(scan) && line.contains(&format!(" on {table}"));
    plan.lines().any(|line| LARGE.iter().any(|table| scans(line, table)))
}

/// Whether what is ready was looked at and left: among what was found, a claim may choose.
pub(crate) fn walks_past(plan: &str) -> bool {
    let mut is_ready = false;
    plan.lines().any(|line| {
        if line.contains(" Scan ") {
            is_ready = line.contains(" on ready");
        }
        is_ready && line.contains("Rows Removed by Filter")
    })
}
