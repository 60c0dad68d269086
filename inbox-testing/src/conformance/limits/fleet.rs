use inbox_core::store::{Terms, Wanted};

use super::{limited, sharing};
use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, envelope, ids, ordered, route_of};

pub async fn all_workers_together_hold_no_more_than_the_limit(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let other = bench.other(database, "host-2").await;
    bench.register("pay", "charge").await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(bench.accept_one(envelope("pay")).await);
    }
    let held = bench.lease_wanted(vec![limited("charge", 3)]).await;
    assert_eq!(ids(&held), all[..3]);
    assert!(other.lease_wanted(vec![limited("charge", 3)]).await.is_empty());
    bench.settled(&held[1], DONE).await;
    let next = other.lease_wanted(vec![limited("charge", 3)]).await;
    assert_eq!(ids(&next), all[3..4]);
    assert!(bench.lease_wanted(vec![limited("charge", 3)]).await.is_empty());
}

pub async fn a_limit_is_for_one_handler(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "mail").await;
    bench.accept((0..3).map(|_| envelope("paid")).collect()).await;
    let held = bench.lease_wanted(vec![limited("book", 1), limited("mail", 2)]).await;
    let of = |key: &str| held.iter().filter(|held| held.delivery.handler_key == key).count();
    assert_eq!((of("book"), of("mail")), (1, 2));
}

pub async fn a_renamed_handler_has_the_limit_it_had(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    let held = bench.lease_wanted(vec![limited("charge", 1)]).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.accept_one(envelope("pay")).await;
    assert!(bench.lease_wanted(vec![limited("charge-card", 1)]).await.is_empty());
    bench.settled(&held[0], DONE).await;
    assert_eq!(bench.lease_wanted(vec![limited("charge-card", 1)]).await.len(), 1);
}

pub async fn a_limit_that_was_lowered_holds_for_what_comes(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..6).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease_wanted(vec![limited("charge", 3)]).await;
    assert_eq!(held.len(), 3);
    assert!(bench.lease_wanted(vec![limited("charge", 2)]).await.is_empty());
    bench.settled(&held[0], DONE).await;
    assert!(bench.lease_wanted(vec![limited("charge", 2)]).await.is_empty(), "two are held");
    bench.settled(&held[1], DONE).await;
    assert_eq!(bench.lease_wanted(vec![limited("charge", 2)]).await.len(), 1);
}

pub async fn both_limits_and_an_order_hold_at_once(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut batch = Vec::new();
    for (ordering, concurrency) in [("a", "x"), ("a", "y"), ("b", "x"), ("c", "y"), ("d", "z")] {
        let mut envelope = ordered("pay", ordering);
        envelope.message.concurrency_key = Some(concurrency.to_owned());
        batch.push(envelope);
    }
    batch.push(sharing("pay", "w"));
    let all: Vec<_> = batch.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(batch).await;
    let one = std::num::NonZeroU32::MIN;
    let terms =
        Terms { fleet: Some(one.saturating_add(1)), per_key: Some(one), ..Terms::default() };
    let both = Wanted { terms, ..limited("charge", 2) };
    let (mut done, mut rounds) = (Vec::new(), 0);
    while done.len() < all.len() {
        let held = bench.lease_wanted(vec![both.clone()]).await;
        assert!(held.len() <= 2, "the limit of the fleet");
        let keys = |of: fn(&inbox_core::message::Message) -> &Option<String>| {
            let mut keys: Vec<_> =
                held.iter().filter_map(|held| of(&held.delivery.message).clone()).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            count == keys.len()
        };
        assert!(keys(|message| &message.concurrency_key), "one of a concurrency key");
        assert!(keys(|message| &message.ordering_key), "one of an ordering key");
        for held in &held {
            done.push(held.id());
            bench.settled(held, DONE).await;
        }
        rounds += 1;
        assert!(rounds < 20, "only {done:?} of {all:?} were leased");
    }
    let place = |id| done.iter().position(|one| *one == id);
    assert!(place(all[0]) < place(all[1]), "in the order of their lane");
}
