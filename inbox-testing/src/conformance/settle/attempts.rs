use inbox_core::settle::{DeadReason, ErrorReport, Settlement};
use inbox_core::store::AttemptRecord;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, dead, envelope, fail_after, failure};

pub async fn a_failure_is_recorded_as_an_attempt(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for (attempt, settlement) in [(1, fail_after(SECOND)), (2, dead(DeadReason::AttemptsExhausted))]
    {
        let held = bench.lease_one("charge").await;
        bench.pass(SECOND);
        bench.settled(&held, settlement).await;
        let expected = AttemptRecord {
            handler_key: "charge".to_owned(),
            attempt,
            host: Some(bench.host.clone()),
            leased_at: held.leased_at,
            settled_at: bench.now,
            error_type: failure().error_type,
            error: failure().text,
        };
        assert_eq!(bench.show(id).await.attempts.last(), Some(&expected));
        bench.pass(SECOND);
        bench.promote(10).await;
    }
}

pub async fn attempts_are_listed_oldest_first(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    let id = bench.accept_one(envelope("paid")).await;
    let mut expected = Vec::new();
    for key in ["ship", "book", "ship", "book"] {
        let held = bench.lease_one(key).await;
        bench.pass(SECOND);
        bench.settled(&held, fail_after(SECOND)).await;
        expected.push((key.to_owned(), held.delivery.attempt, bench.now));
        bench.pass(SECOND);
        bench.promote(10).await;
    }
    let listed = bench.show(id).await.attempts.into_iter();
    let listed: Vec<_> = listed.map(|a| (a.handler_key, a.attempt, a.settled_at)).collect();
    assert_eq!(listed, expected);
}

pub async fn what_went_wrong_is_kept_after_success(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.settled(&bench.lease_one("charge").await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    let record = bench.show(id).await;
    assert_eq!(record.attempts.len(), 1, "the first attempt failed");
    assert_eq!(record.deliveries[0].attempts, 2);
}

pub async fn the_last_error_is_the_one_shown(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    for text in ["first", "second", "third"] {
        let error = ErrorReport::new("gateway::Declined", text);
        let held = bench.lease_one("charge").await;
        bench.settled(&held, Settlement::Retry { after: SECOND, error }).await;
        assert_eq!(bench.delivery(id).await.error.as_deref(), Some(text));
        bench.pass(SECOND);
        bench.promote(10).await;
    }
}

pub async fn the_longest_error_is_kept_whole(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(envelope("pay")).await;
    let error = ErrorReport::new("a".repeat(300), "ж".repeat(8 * 1024));
    let held = bench.lease_one("charge").await;
    bench.settled(&held, Settlement::Retry { after: SECOND, error: error.clone() }).await;
    let record = bench.show(id).await;
    let attempt = &record.attempts[0];
    assert_eq!((&attempt.error_type, &attempt.error), (&error.error_type, &error.text));
    assert_eq!(record.deliveries[0].error.as_ref(), Some(&error.text));
}
