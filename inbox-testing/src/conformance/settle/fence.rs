use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{DeliveryState, LeaseLost, LeaseToken};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, Held, SECOND, dead, envelope, fail_after};

async fn held(bench: &Bench) -> Held {
    bench.register("pay", "charge").await;
    bench.accept_one(envelope("pay")).await;
    bench.lease_one("charge").await
}

/// Tries every settlement and sees that none leaves a trace.
async fn changes_nothing(bench: &Bench, held: &Held) {
    let (before, counts) = (bench.show(held.id()).await, bench.counts().await);
    let expired = Settlement::Done(DoneOutcome::Expired);
    let failed = [fail_after(SECOND), dead(DeadReason::Undecodable)];
    for settlement in [DONE, expired, Settlement::Release].into_iter().chain(failed) {
        let answer = bench.settle(held, settlement.clone()).await;
        assert_eq!(answer, Err(LeaseLost(held.token)), "{settlement:?}");
        assert_eq!(bench.show(held.id()).await, before, "{settlement:?} changed something");
        assert_eq!(bench.counts().await, counts, "{settlement:?} changed a count");
    }
}

pub async fn an_expired_lease_settles_until_it_is_reclaimed(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let failed = [fail_after(HOLD), dead(DeadReason::Undecodable)];
    for settlement in failed.into_iter().chain([DONE, Settlement::Release]) {
        let held = held(&bench).await;
        bench.now = held.expires_at;
        bench.pass(HOLD);
        bench.settled(&held, settlement).await;
        assert_eq!(bench.reclaim(10).await.moved(), 0, "nothing is left to be reclaimed");
        bench.cancel(held.id(), None).await;
    }
}

pub async fn a_reclaimed_lease_settles_nothing(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let held = held(&bench).await;
    bench.now = held.expires_at;
    bench.reclaim(10).await;
    changes_nothing(&bench, &held).await;
}

pub async fn a_lease_that_another_holds_by_now_settles_nothing(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let stale = held(&bench).await;
    bench.now = stale.expires_at;
    bench.reclaim(10).await;
    let other = bench.other(database, "host-2").await;
    let held = other.lease_one("charge").await;
    changes_nothing(&bench, &stale).await;
    other.settled(&held, DONE).await;
    changes_nothing(&bench, &stale).await;
}

pub async fn a_settled_delivery_is_not_settled_again(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let failed = [dead(DeadReason::AttemptsExhausted), fail_after(HOLD)];
    for settlement in failed.into_iter().chain([DONE, Settlement::Release]) {
        let held = held(&bench).await;
        bench.settled(&held, settlement).await;
        changes_nothing(&bench, &held).await;
        bench.pass(SECOND);
        changes_nothing(&bench, &held).await;
    }
}

pub async fn an_unknown_token_settles_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let held = held(&bench).await;
    let forged = Held { token: LeaseToken::new(), ..held.clone() };
    changes_nothing(&bench, &forged).await;
    bench.settled(&held, DONE).await;
}

pub async fn a_token_settles_no_delivery_but_its_own(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..2).map(|_| envelope("pay")).collect()).await;
    let mine = bench.lease("charge", 1).await.remove(0);
    let theirs = bench.lease("charge", 1).await.remove(0);
    changes_nothing(&bench, &Held { token: mine.token, ..theirs.clone() }).await;
    let mut nowhere = mine.clone();
    nowhere.delivery.message.id = inbox_core::message::MessageId::new();
    let answer = bench.settle(&nowhere, DONE).await;
    assert_eq!(answer, Err(LeaseLost(mine.token)), "no such message");
    bench.settled(&mine, DONE).await;
    bench.settled(&theirs, DONE).await;
}

pub async fn a_token_settles_for_its_own_handler_only(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("paid", "book").await;
    bench.register("paid", "ship").await;
    let id = bench.accept_one(envelope("paid")).await;
    let (book, ship) = (bench.lease_one("book").await, bench.lease_one("ship").await);
    bench.settled(&book, DONE).await;
    assert_eq!(bench.delivery_of(id, "ship").await.state, DeliveryState::Processing);
    changes_nothing(&bench, &book).await;
    bench.settled(&ship, DONE).await;
}
