use std::time::Duration;

use inbox_core::Now;
use inbox_core::store::{DeadDelivery, DeliveryFilter, DeliveryState, OrphanTerms};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    ALIVE, Bench, DONE, HOLD, SECOND, all_at_once, delayed, envelope, patiently, route_of,
};

pub(super) const AT_ONCE: Duration = Duration::ZERO;

/// `charge` and `send` have routes, and only `send` has a host.
pub(super) async fn without_charge(database: &dyn TestDatabase) -> Bench {
    let bench = Bench::open(database).await;
    bench.register_all(vec![route_of("pay", "charge", &[]), route_of("mail", "send", &[])]).await;
    bench.announce(&["send", "book"]).await;
    bench
}

pub async fn an_orphan_is_dead_with_a_reason_that_says_what_to_do(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let id = bench.accept_one(envelope("pay")).await;
    let named = DeadDelivery { message_id: id, handler_key: "charge".to_owned(), attempts: 0 };
    assert_eq!(bench.given_up(AT_ONCE, 10).await, [named]);
    let dead = bench.delivery(id).await;
    assert_eq!((dead.state, dead.attempts), (DeliveryState::Dead, 0), "no attempt was made");
    assert_eq!(dead.reason.as_deref(), Some("orphaned"));
    assert_eq!(dead.settled_at, Some(bench.now));
    let error = dead.error.unwrap_or_default();
    let said = "no live handler for key `charge`; live ones are: `book`, `send`; start a program";
    assert!(error.starts_with(said), "{error}");
    assert_eq!(bench.show(id).await.attempts, []);
}

pub async fn an_orphan_is_brought_back_by_a_retry(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let id = bench.accept_one(envelope("pay")).await;
    bench.give_up(AT_ONCE, 10).await;
    assert!(bench.retry(id, "charge").await);
    let held = bench.lease_one("charge").await;
    assert_eq!((held.id(), held.delivery.attempt), (id, 1));
    bench.settled(&held, DONE).await;
}

pub async fn what_a_live_host_serves_is_no_orphan(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    let other = bench.other(database, "host-2").await;
    other.announce(&["charge"]).await;
    let ids = [bench.accept_one(envelope("pay")).await, bench.accept_one(envelope("mail")).await];
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 0);
    assert_eq!(other.give_up(AT_ONCE, 10).await, 0);
    for id in ids {
        let delivery = bench.delivery(id).await;
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    }
}

pub async fn hosts_of_different_handlers_leave_each_others_work_alone(database: &dyn TestDatabase) {
    const EACH: usize = 5;
    let bench = without_charge(database).await;
    let mut other = bench.other(database, "host-2").await;
    let mut bench = bench;
    for _ in 0..EACH {
        bench.accept(vec![envelope("pay"), envelope("mail")]).await;
    }
    // For a long time each does all that hosts do, with the keys of its own.
    for _ in 0..10 {
        for (host, key) in [(&mut bench, "send"), (&mut other, "charge")] {
            host.announce(&[key]).await;
            host.reclaim(10).await;
            host.route(10).await;
            host.promote(10).await;
            assert_eq!(host.give_up(HOLD, 10).await, 0);
            assert_eq!(host.lease("unheard-of", 10).await.len(), 0);
            host.pass(HOLD.saturating_sub(SECOND));
        }
    }
    for (host, key) in [(&bench, "send"), (&other, "charge")] {
        let held = host.lease(key, 10).await;
        assert_eq!(held.len(), EACH);
        assert!(held.iter().all(|held| held.delivery.attempt == 1), "none was burnt");
    }
}

pub async fn a_host_that_was_not_seen_for_a_while_serves_nothing(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    let other = bench.other(database, "host-2").await;
    other.announce(&["charge"]).await;
    bench.accept_one(envelope("pay")).await;
    bench.pass(ALIVE.saturating_sub(Duration::from_micros(1)));
    bench.announce(&["send"]).await;
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 0);
    bench.pass(Duration::from_micros(1));
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 1);
}

pub async fn only_what_is_ready_is_an_orphan(database: &dyn TestDatabase) {
    let mut bench = without_charge(database).await;
    let held = bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await;
    let late = bench.accept_one(delayed("pay", SECOND)).await;
    let unrouted = bench.accept_one(envelope("unheard-of")).await;
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 0);
    assert_eq!(bench.state(held).await, DeliveryState::Processing);
    assert_eq!(bench.state(late).await, DeliveryState::Waiting);
    bench.pass(SECOND);
    bench.promote(10).await;
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 1, "its moment has come");
    assert_eq!(bench.state(late).await, DeliveryState::Dead);
    assert_eq!(bench.state(unrouted).await, DeliveryState::Waiting, "it has no handler at all");
}

pub async fn what_a_superseded_or_retired_key_has_is_an_orphan_too(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    bench.register("refund", "pay-back").await;
    bench.accept(vec![envelope("pay"), envelope("refund")]).await;
    bench.register_all(vec![route_of("pay", "charge-card", &["charge"])]).await;
    bench.retire("refund", "pay-back").await;
    bench.announce(&["charge-card"]).await;
    assert_eq!(bench.give_up(AT_ONCE, 10).await, 2);
}

pub async fn the_limit_of_giving_up_holds(database: &dyn TestDatabase) {
    let bench = without_charge(database).await;
    bench.register("refund", "pay-back").await;
    for contract in ["pay", "refund"] {
        bench.accept((0..5).map(|_| envelope(contract)).collect()).await;
    }
    for expected in [4, 4, 2, 0] {
        assert_eq!(bench.give_up(AT_ONCE, 4).await, expected);
    }
}

pub async fn of_many_that_give_up_at_once_each_orphan_is_moved_by_one(database: &dyn TestDatabase) {
    const ORPHANS: usize = 40;
    let bench = without_charge(database).await;
    bench.accept((0..ORPHANS).map(|_| envelope("pay")).collect()).await;
    let mut sweeping = Vec::new();
    for at in 0..6 {
        let bench = bench.other(database, &format!("host-{at}")).await;
        sweeping.push(async move {
            let terms = OrphanTerms { grace: AT_ONCE, alive_for: ALIVE };
            let call = || bench.store.give_up_orphans(terms, 7, Now::At(bench.now));
            patiently("give_up_orphans", call).await
        });
    }
    let mut named: Vec<_> = all_at_once(sweeping).await.concat();
    loop {
        match bench.given_up(AT_ONCE, 7).await {
            more if more.is_empty() => break,
            more => named.extend(more),
        }
    }
    named.sort();
    let moved = named.len();
    named.dedup();
    assert_eq!(named.len(), moved, "each is named by one of them");
    let dead = bench.list(DeliveryFilter::in_state(DeliveryState::Dead)).await;
    assert_eq!((moved, dead.len()), (ORPHANS, ORPHANS));
}
