use inbox_core::message::MessageId;
use inbox_core::settle::{DeadReason, DoneOutcome, Settlement};
use inbox_core::store::{DeliveryFilter, DeliveryState};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, HOLD, SECOND, dead, envelope, fail_after};

pub async fn an_unknown_message_is_not_shown(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.find(MessageId::new()).await, None);
    assert_eq!(bench.find(MessageId::from_u128(0)).await, None);
}

pub async fn a_message_is_shown_with_its_own_deliveries_only(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let (first, second) =
        (bench.accept_one(envelope("pay")).await, bench.accept_one(envelope("pay")).await);
    let held = bench.lease("charge", 1).await.remove(0);
    bench.settled(&held, fail_after(SECOND)).await;
    let (failed, fresh) = (bench.show(first).await, bench.show(second).await);
    assert_eq!((failed.deliveries.len(), failed.attempts.len()), (1, 1));
    assert_eq!((fresh.deliveries.len(), fresh.attempts.len()), (1, 0));
    assert_eq!(fresh.stored.message.id, second);
}

pub async fn showing_and_listing_agree_in_every_state(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let settlements = [
        (DeliveryState::Completed, DONE),
        (DeliveryState::Expired, Settlement::Done(DoneOutcome::Expired)),
        (DeliveryState::Waiting, fail_after(HOLD)),
        (DeliveryState::Dead, dead(DeadReason::Undecodable)),
    ];
    let mut expected = vec![(bench.accept_one(envelope("mail")).await, DeliveryState::Waiting)];
    for (state, settlement) in settlements {
        expected.push((bench.accept_one(envelope("pay")).await, state));
        bench.settled(&bench.lease_one("charge").await, settlement).await;
        bench.pass(SECOND);
    }
    expected.push((bench.accept_one(envelope("pay")).await, DeliveryState::Processing));
    bench.lease_one("charge").await;
    expected.push((bench.accept_one(envelope("pay")).await, DeliveryState::Pending));

    let listed = bench.list(DeliveryFilter::default()).await;
    let states: Vec<_> = listed.iter().map(|record| (record.message_id, record.state)).collect();
    assert_eq!(states, expected, "in the order of their ids");
    for record in listed {
        assert_eq!(bench.delivery(record.message_id).await, record);
    }
}
