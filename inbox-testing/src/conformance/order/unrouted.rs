use std::sync::{Arc, Mutex};

use inbox_core::message::MessageId;
use inbox_core::schedule::Start;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, all_at_once, ordered};

/// Accepts so many of one key, one after the other.
async fn one_by_one(bench: &Bench, count: usize) -> Vec<MessageId> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(bench.accept_one(ordered("pay", "a")).await);
    }
    all
}

/// Works off all that is ready, one after the other, and answers in which order.
async fn drained(bench: &Bench) -> Vec<MessageId> {
    let mut run = Vec::new();
    while let Some(held) = bench.lease("charge", 10).await.first() {
        run.push(held.id());
        bench.settled(held, DONE).await;
    }
    run
}

pub async fn what_waited_for_a_route_goes_before_what_came_later(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let mut all = one_by_one(&bench, 5).await;
    bench.register("pay", "charge").await;
    all.extend(one_by_one(&bench, 2).await);
    assert_eq!(drained(&bench).await, all, "in the order of acceptance");
}

pub async fn the_order_holds_around_a_route_that_was_retired(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut all = one_by_one(&bench, 2).await;
    let head = bench.lease_one("charge").await;
    bench.retire("pay", "charge").await;
    all.extend(one_by_one(&bench, 2).await);
    bench.restore("pay", "charge").await;
    all.extend(one_by_one(&bench, 2).await);
    bench.settled(&head, DONE).await;
    let mut run = vec![head.id()];
    for _ in 0..5 {
        run.extend(drained(&bench).await);
        bench.route(1).await;
    }
    run.extend(drained(&bench).await);
    assert_eq!(run, all, "in the order of acceptance");
}

pub async fn what_was_accepted_together_is_routed_in_that_order(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let mut batch: Vec<_> = (0..10).map(|_| ordered("pay", "a")).collect();
    // Whatever their ids say.
    batch.reverse();
    let all: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    bench.register("pay", "charge").await;
    assert_eq!(drained(&bench).await, all);
}

pub async fn the_order_holds_while_the_first_worker_starts(database: &dyn TestDatabase) {
    const COUNT: usize = 120;
    let bench = Bench::open(database).await;
    let all = one_by_one(&bench, COUNT / 2).await;
    let (producer, worker) =
        (bench.other(database, "producer").await, bench.other(database, "worker").await);
    let (all, run) = (Arc::new(Mutex::new(all)), Arc::new(Mutex::new(Vec::new())));
    let producing: Task = Box::pin({
        let all = Arc::clone(&all);
        async move {
            for _ in COUNT / 2..COUNT {
                // Its receipt is there before the next one is sent.
                let id = producer.accept_one(ordered("pay", "a")).await;
                note(&all, id);
            }
        }
    });
    let working: Task = Box::pin({
        let run = Arc::clone(&run);
        async move {
            worker.register("pay", "charge").await;
            while ids(&run).len() < COUNT {
                worker.route(10).await;
                for id in drained(&worker).await {
                    note(&run, id);
                }
                tokio::task::yield_now().await;
            }
        }
    });
    all_at_once([producing, working]).await;
    assert_eq!(ids(&run), ids(&all), "in the order of acceptance");
}

type Task = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn note(list: &Mutex<Vec<MessageId>>, id: MessageId) {
    if let Ok(mut list) = list.lock() {
        list.push(id);
    }
}

fn ids(list: &Mutex<Vec<MessageId>>) -> Vec<MessageId> {
    list.lock().map(|list| list.clone()).unwrap_or_default()
}

pub async fn one_that_is_delayed_and_had_no_route_waits_until_it_is_due(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    let mut later = ordered("pay", "a");
    later.start = Start::After(SECOND);
    let later = bench.accept_one(later).await;
    bench.register("pay", "charge").await;
    let now = one_by_one(&bench, 1).await;
    assert_eq!(drained(&bench).await, now);
    bench.pass(SECOND);
    bench.promote(10).await;
    assert_eq!(drained(&bench).await, [later]);
}
