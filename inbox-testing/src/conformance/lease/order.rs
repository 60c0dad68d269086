use inbox_core::message::MessageId;
use inbox_core::schedule::Priority;
use inbox_core::store::LeaseRequest;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, SECOND, envelope, ids, prioritised, wanted};

pub async fn the_most_urgent_is_leased_first(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut expected = Vec::new();
    for priority in [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent] {
        expected.insert(0, bench.accept_one(prioritised("pay", priority)).await);
        bench.pass(SECOND);
    }
    assert_eq!(one_by_one(&bench, "charge").await, expected);
}

pub async fn of_equally_urgent_ones_the_oldest_is_leased_first(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut expected = Vec::new();
    for _ in 0..5 {
        expected.push(bench.accept_one(envelope("pay")).await);
        bench.pass(SECOND);
    }
    assert_eq!(one_by_one(&bench, "charge").await, expected);
}

pub async fn the_oldest_is_the_one_accepted_first_whatever_its_id(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    // Ids are made by the clocks of many machines; acceptance has one.
    let (early, late) = (envelope("pay"), envelope("pay"));
    let first = bench.accept_one(late).await;
    bench.pass(SECOND);
    let second = bench.accept_one(early).await;
    assert_eq!(one_by_one(&bench, "charge").await, [first, second]);
}

pub async fn those_of_one_call_are_leased_in_its_order(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let batch: Vec<_> = (0..20).map(|_| envelope("pay")).collect();
    let expected: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    assert_eq!(one_by_one(&bench, "charge").await, expected);
}

pub async fn an_answer_is_in_the_order_of_claiming(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let [low, normal, high] = [Priority::Low, Priority::Normal, Priority::High];
    let mut accepted = Vec::new();
    for priority in [low, high, normal, high, normal, low] {
        accepted.push(bench.accept_one(prioritised("pay", priority)).await);
        bench.pass(SECOND);
    }
    let expected = [1, 3, 2, 4, 0, 5].map(|at: usize| accepted[at]);
    assert_eq!(ids(&bench.lease("charge", 4).await), expected[..4]);
    assert_eq!(ids(&bench.lease("charge", 4).await), expected[4..]);
}

async fn one_by_one(bench: &Bench, handler_key: &str) -> Vec<MessageId> {
    let mut order = Vec::new();
    loop {
        let held = bench.lease(handler_key, 1).await;
        let Some(held) = held.first() else { return order };
        order.push(held.id());
    }
}

pub async fn a_claim_may_begin_with_another_priority(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let all = [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];
    let mut sent = Vec::new();
    for priority in all.into_iter().chain(all) {
        sent.push(bench.accept_one(prioritised("pay", priority)).await);
    }
    let leased = async |first, limit| {
        let request = bench.request(vec![wanted("charge", limit)]);
        ids(&bench.lease_requested(LeaseRequest { first, ..request }).await)
    };
    assert_eq!(leased(Some(Priority::Low), 1).await, [sent[0]]);
    assert_eq!(leased(Some(Priority::Normal), 3).await, [sent[1], sent[5], sent[3]]);
    assert_eq!(leased(None, 10).await, [sent[7], sent[2], sent[6], sent[4]]);
}
