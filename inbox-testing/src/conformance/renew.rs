//! *lease → lease*.

use std::time::Duration;

use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken};

use super::TestDatabase;
use super::kit::{Bench, DONE, HOLD, Held, SECOND, envelope};

async fn held(bench: &Bench, count: u32) -> Vec<Held> {
    bench.register("pay", "charge").await;
    for _ in 0..count {
        bench.accept_one(envelope("pay")).await;
    }
    let mut held = Vec::new();
    for _ in 0..count {
        // One at a time, so that each has a lease of its own in every store.
        held.append(&mut bench.lease("charge", 1).await);
    }
    held
}

pub async fn a_renewed_lease_holds_from_now_on(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench, 1).await.remove(0);
    bench.pass(SECOND * 40);
    let until = bench.later(HOLD);
    assert_eq!(bench.renew(vec![held.token], HOLD).await, [Ok(until)]);
    let record = bench.delivery(held.id()).await;
    assert_eq!((record.lease_expires_at, record.attempts), (Some(until), 1));

    bench.just_before(until);
    assert_eq!(bench.reclaim(10).await.returned(), 0, "it has not expired");
    bench.settled(&held, DONE).await;
}

pub async fn a_lease_that_has_expired_is_renewed_until_it_is_reclaimed(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench, 1).await.remove(0);
    bench.now = held.expires_at;
    bench.pass(HOLD);
    assert_eq!(bench.renew(vec![held.token], HOLD).await, [Ok(bench.later(HOLD))]);
    assert_eq!(bench.reclaim(10).await.moved(), 0, "its worker is alive");
    bench.pass(HOLD);
    assert_eq!(bench.reclaim(10).await.returned(), 1);
    let before = bench.show(held.id()).await;
    assert_eq!(bench.renew(vec![held.token], HOLD).await, [Err(LeaseLost(held.token))]);
    assert_eq!(bench.show(held.id()).await, before);
}

pub async fn a_lease_that_is_gone_is_lost(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let gone = held(&bench, 3).await;
    bench.settled(&gone[0], DONE).await;
    bench.release(vec![gone[1].token]).await;
    bench.pass(HOLD);
    bench.reclaim(10).await;
    let again = bench.lease("charge", 10).await;
    for held in gone {
        let before = bench.show(held.id()).await;
        assert_eq!(bench.renew(vec![held.token], HOLD).await, [Err(LeaseLost(held.token))]);
        assert_eq!(bench.show(held.id()).await, before);
    }
    assert!(!again.is_empty(), "what was lost is leased under other tokens");
}

pub async fn an_unknown_token_is_lost(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let token = LeaseToken::new();
    assert_eq!(bench.renew(vec![token], HOLD).await, [Err(LeaseLost(token))]);
}

pub async fn answers_come_in_the_order_of_the_tokens(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench, 3).await;
    bench.settled(&held[1], DONE).await;
    bench.pass(SECOND);
    let unknown = LeaseToken::from_u128(1);
    let tokens = vec![held[2].token, unknown, held[1].token, held[0].token];
    let until = bench.later(HOLD);
    let lost = |token| Err(LeaseLost(token));
    let expected = [Ok(until), lost(unknown), lost(held[1].token), Ok(until)];
    assert_eq!(bench.renew(tokens, HOLD).await, expected);
    assert_eq!(bench.renew(Vec::new(), HOLD).await, []);
}

pub async fn a_lease_of_which_some_are_settled_is_renewed_for_the_others(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..3).map(|_| envelope("pay")).collect()).await;
    let held = bench.lease("charge", 10).await;
    bench.settled(&held[0], DONE).await;
    bench.pass(SECOND);
    let answers = bench.renew(held[1..].iter().map(|held| held.token).collect(), HOLD).await;
    assert_eq!(answers, [Ok(bench.later(HOLD)), Ok(bench.later(HOLD))]);
    assert_eq!(bench.state(held[0].id()).await, DeliveryState::Completed);
    assert_eq!(bench.delivery(held[0].id()).await.lease_expires_at, None);
}

pub async fn the_longest_renewal_does_not_expire(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench, 1).await.remove(0);
    let answers = bench.renew(vec![held.token], Duration::MAX).await;
    bench.pass(SECOND * 86_400 * 365 * 100);
    assert!(answers[0].is_ok_and(|until| until > bench.now), "it was answered {answers:?}");
    bench.settled(&held, DONE).await;
}

pub async fn a_renewer_renews_as_the_store_does(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench, 2).await;
    // Without one, the store itself depends on nothing that handlers hold up.
    let Some(mut renewer) = bench.store.renewer() else { return };
    bench.pass(SECOND);
    bench.cancel(held[1].id(), None).await;
    let unknown = LeaseToken::new();
    let tokens = vec![held[1].token, unknown, held[0].token];
    let answers = renewer.renew(tokens.clone(), HOLD, bench.at()).await;
    let answers = answers.unwrap_or_else(|error| panic!("the renewer failed: {error}"));
    assert_eq!(answers, bench.renew_fully(tokens, HOLD).await);
    assert_eq!(answers[1], Err(LeaseLost(unknown)));
    let stopped = answers[0].as_ref().is_ok_and(|renewed| renewed.cancelled == [held[1].id()]);
    assert!(stopped, "{answers:?}");
}
