use crate::conformance::TestDatabase;
use crate::conformance::kit::{ALIVE, Bench, DONE, HOLD, delayed, envelope, fail_after, route_of};

pub async fn a_route_says_what_is_open_and_who_serves_it(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.register("mail", "send").await;
    let other = bench.other(database, "host-2").await;
    bench.announce(&["charge"]).await;
    other.announce(&["charge-card", "charge"]).await;
    // One done, one for later, one held, one ready.
    bench.accept(vec![envelope("pay"), envelope("pay")]).await;
    let held = bench.lease("charge", 2).await;
    bench.settled(&held[0], DONE).await;
    bench.accept(vec![delayed("pay", HOLD), envelope("pay")]).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.accept_one(envelope("pay")).await;

    let routes = bench.routes().await;
    let shown: Vec<_> = routes
        .iter()
        .map(|route| (&*route.contract, &*route.handler_key, route.open, route.hosts.len()))
        .collect();
    let expected = [("mail", "send", 0, 0), ("pay", "charge", 3, 2), ("pay", "charge-card", 1, 1)];
    assert_eq!(shown, expected);
    assert_eq!(routes[1].superseded_by.as_deref(), Some("charge-card"));
    assert_eq!(routes[1].hosts, ["host-1", "host-2"]);
    assert!(!routes[1].takes_new() && routes[2].takes_new());

    bench.settled(&held[1], fail_after(HOLD)).await;
    assert_eq!(bench.route_record("charge").await.open, 3, "a retry is still open");
    bench.retire("mail", "send").await;
    let retired = bench.route_record("send").await;
    assert!(retired.retired && retired.superseded_by.is_none() && !retired.takes_new());

    bench.pass(ALIVE);
    bench.announce(&["charge"]).await;
    assert_eq!(bench.route_record("charge").await.hosts, ["host-1"], "nobody saw the other one");
}

pub async fn an_empty_store_has_no_routes(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    assert_eq!(bench.routes().await, []);
}
