use std::time::Duration;

use inbox_core::store::{DeliveryState, HostRecord, Served};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, envelope, served};

pub async fn a_host_is_known_with_what_it_serves_until_it_leaves(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    assert_eq!(bench.hosts().await, []);
    let (started_at, other) = (bench.now, bench.other(database, "host-2").await);
    bench.announce(&["charge", "send"]).await;
    other.announce(&[]).await;
    bench.pass(SECOND);
    bench.announce(&["charge"]).await;
    let record = |name: &str, seen_at, serves| HostRecord {
        name: name.to_owned(),
        started_at,
        seen_at,
        serves,
    };
    let first = record("host-1", bench.now, vec![served("charge")]);
    let second = record("host-2", started_at, vec![]);
    assert_eq!(other.hosts().await, [first, second.clone()], "as it said last");
    bench.leave().await;
    bench.leave().await;
    assert_eq!(other.hosts().await, [second]);
}

pub async fn what_a_host_serves_is_kept_as_it_said(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let charge = Served { handler_key: "charge".to_owned(), versions: vec![1, 2, 7] };
    let odd = Served { handler_key: "\"é'; --".to_owned(), versions: vec![] };
    let given = vec![charge.clone(), odd.clone()];
    bench.store.announce("host-1", given, bench.at()).await.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(bench.hosts().await[0].serves, [odd, charge], "sorted");
}

pub async fn what_a_host_holds_is_its_own_by_its_lease_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.announce(&["charge"]).await;
    let (first, second) =
        (bench.accept_one(envelope("pay")).await, bench.accept_one(envelope("pay")).await);
    let held = bench.lease("charge", 10).await;
    // Its row is gone, be it by a hand or because it could not say that it is there.
    bench.leave().await;
    bench.give_up(Duration::ZERO, 10).await;
    assert!(bench.renew(vec![held[0].token], HOLD).await[0].is_ok());
    bench.settled(&held[0], DONE).await;
    assert_eq!(bench.state(first).await, DeliveryState::Completed);
    assert_eq!(bench.state(second).await, DeliveryState::Processing);
    bench.pass(HOLD * 2);
    assert_eq!(bench.reclaim(10).await.returned(), 1, "and is found without it");
}

pub async fn a_host_of_the_same_name_does_not_hide_what_another_left_behind(
    database: &dyn TestDatabase,
) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.announce(&["charge"]).await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    // Killed; another process takes its name and says all the time that it is there.
    let mut again = bench.other(database, &bench.host).await;
    for _ in 0..4 {
        again.pass(HOLD / 2);
        again.announce(&["charge"]).await;
    }
    assert_eq!(again.reclaim(10).await.returned(), 1);
    assert_eq!(again.lease_one("charge").await.id(), id);
}
