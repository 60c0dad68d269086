use inbox_core::message::{Envelope, MessageId};
use inbox_core::schedule::{Priority, Start};
use inbox_core::settle::{DeadReason, Settlement};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{
    Bench, HOLD, SECOND, dead, delayed, envelope, fail_after, ids, of_tenant,
};

/// With characters that a statement made of text would stumble over.
const ODD: &str = "o'brien, \"ж\" {1}";

pub async fn only_what_its_tenants_sent_is_leased(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut sent = Vec::new();
    for tenant in ["acme", "bolt", "", ODD, "acme corp"] {
        sent.push(bench.accept_one(of_tenant(tenant, "pay")).await);
    }
    for (tenants, expected) in [
        (&["acm", "ACME", "acme "][..], &[][..]),
        (&["acme"], &sent[..1]),
        (&[ODD, "bolt"], &[sent[1], sent[3]]),
        (&[""], &sent[2..3]),
    ] {
        let held = bench.lease_for(tenants, "charge", 10).await;
        assert_eq!(ids(&held), expected, "for {tenants:?}");
        for held in held {
            bench.settled(&held, Settlement::Release).await;
        }
    }
    let held = bench.lease_for(&["", "bolt", "bolt", "nobody"], "charge", 10).await;
    assert_eq!(held.len(), 2, "the one without a tenant, and the one of bolt");
}

pub async fn a_worker_for_no_tenant_leases_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept(vec![of_tenant("acme", "pay"), envelope("pay")]).await;
    assert!(bench.lease_for(&[], "charge", 10).await.is_empty());
}

pub async fn a_worker_for_all_tenants_leases_what_is_left(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let mut sent = Vec::new();
    for tenant in ["acme", "", "bolt", "acme"] {
        sent.push(bench.accept_one(of_tenant(tenant, "pay")).await);
    }
    assert_eq!(ids(&bench.lease_for(&["acme"], "charge", 1).await), sent[..1]);
    assert_eq!(ids(&bench.lease("charge", 10).await), sent[1..]);
}

pub async fn what_another_tenant_sent_keeps_nothing_back(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    bench.accept((0..50).map(|_| of_tenant("bolt", "pay")).collect()).await;
    bench.accept((0..50).map(|_| envelope("pay")).collect()).await;
    let urgent = Envelope { priority: Priority::Urgent, ..of_tenant("bolt", "pay") };
    bench.accept_one(urgent).await;
    let sent: Vec<_> = (0..4).map(|_| of_tenant("acme", "pay")).collect();
    let expected: Vec<_> = sent.iter().map(|envelope| envelope.message.id).collect();
    bench.accept(sent).await;
    // The limit is one of what is leased, and not of what is passed by.
    assert_eq!(ids(&bench.lease_for(&["acme"], "charge", 3).await), expected[..3]);
    assert_eq!(ids(&bench.lease_for(&["acme"], "charge", 3).await), expected[3..]);
    assert_eq!(bench.lease("charge", 200).await.len(), 101, "the others are still there");
}

pub async fn of_several_tenants_the_most_urgent_and_then_the_oldest_is_first(
    database: &dyn TestDatabase,
) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let [low, normal, high] = [Priority::Low, Priority::Normal, Priority::High];
    for tenants in [&["acme", "bolt"][..], &["", "acme"]] {
        let mut sent = Vec::new();
        for (at, priority) in [(1, normal), (0, low), (0, normal), (1, high), (0, high), (1, low)] {
            let envelope = Envelope { priority, ..of_tenant(tenants[at], "pay") };
            sent.push(bench.accept_one(envelope).await);
            bench.pass(SECOND);
        }
        let expected = [3, 4, 0, 2, 1, 5].map(|at: usize| sent[at]);
        assert_eq!(ids(&bench.lease_for(tenants, "charge", 4).await), expected[..4]);
        assert_eq!(ids(&bench.lease_for(tenants, "charge", 4).await), expected[4..]);
    }
}

pub async fn a_quarantined_delivery_of_another_tenant_is_left_alone(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let sent = ["acme", "bolt", ""].map(|tenant| of_tenant(tenant, "pay"));
    let sent_ids = sent.each_ref().map(|envelope| envelope.message.id);
    bench.accept(sent.into()).await;
    for _ in 0..2 {
        bench.lease("charge", 10).await;
        bench.pass(HOLD);
        bench.reclaim(10).await;
    }
    // Those of acme and of nobody have been ready for longer, or as long.
    assert_eq!(ids(&bench.lease_for(&["bolt"], "charge", 10).await), [sent_ids[1]]);
    let other = bench.other(database, "host-2").await;
    assert_eq!(ids(&other.lease_for(&[""], "charge", 10).await), [sent_ids[2]]);
}

/// What acme sent is there for acme's worker alone.
async fn is_acmes(bench: &Bench, id: MessageId) -> crate::conformance::kit::Held {
    assert!(bench.lease_for(&["bolt", ""], "charge", 10).await.is_empty());
    let mut held = bench.lease_for(&["acme"], "charge", 10).await;
    assert_eq!(ids(&held), [id]);
    held.remove(0)
}

pub async fn a_delivery_is_its_tenants_wherever_it_has_been(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let id = bench.accept_one(of_tenant("acme", "pay")).await;
    bench.settled(&is_acmes(&bench, id).await, fail_after(SECOND)).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    bench.release(vec![is_acmes(&bench, id).await.token]).await;
    bench.settled(&is_acmes(&bench, id).await, Settlement::Release).await;
    bench.settled(&is_acmes(&bench, id).await, dead(DeadReason::Undecodable)).await;
    bench.retry(id, "charge").await;
    bench.reschedule(id, None, Start::After(SECOND)).await;
    bench.reschedule(id, None, Start::Immediately).await;
    is_acmes(&bench, id).await;
    for _ in 0..2 {
        bench.pass(HOLD);
        bench.reclaim(10).await;
        is_acmes(&bench, id).await;
    }
}

pub async fn what_waited_for_a_route_is_its_tenants(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let id = bench.accept_one(of_tenant("acme", "pay")).await;
    let mut later = delayed("pay", SECOND);
    "acme".clone_into(&mut later.message.tenant);
    let later = bench.accept_one(later).await;
    bench.register("pay", "charge").await;
    is_acmes(&bench, id).await;
    bench.pass(SECOND);
    bench.promote(10).await;
    is_acmes(&bench, later).await;
}
