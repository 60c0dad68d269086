//! All verbs at once on few lanes with tight limits: nobody waits in a circle, and nothing is left behind.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod bench;
#[path = "../reach/mod.rs"]
mod reach;
mod verbs;

use bench::Bench;

const TASKS: u64 = 8;
const STEPS: usize = 250;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_verbs_at_once_meet_in_no_circle_and_everything_drains() {
    let bench = Bench::open().await;
    let tasks = (0..TASKS).map(|task| {
        let bench = bench.clone();
        tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(7 + task);
            let store = bench.store(task);
            for _ in 0..STEPS {
                bench.step(&store, &mut random).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    bench.assert_untroubled();
    bench.assert_each_in_one_place().await;
    bench.drain().await;
    bench.assert_each_in_one_place().await;
    bench.assert_clean().await;
}
