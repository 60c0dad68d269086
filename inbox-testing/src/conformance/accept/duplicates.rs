use inbox_core::message::Headers;
use inbox_core::schedule::OnConflict;
use inbox_core::store::{Accepted, DeliveryFilter, StoredMessage};

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, DONE, SECOND, bytes, envelope, id_of, keyed, same_json};

pub async fn of_many_without_keys_the_one_sent_before_is_answered_so(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let (before, new) = (envelope("pay"), envelope("pay"));
    let (first, second) = (bench.accept_one(before.clone()).await, new.message.id);
    let answers = bench.accept(vec![new.clone(), before, new]).await;
    let named: Vec<_> = answers.iter().map(id_of).collect();
    assert_eq!(named, [None, Some(first), Some(second)]);
    assert_eq!(bench.lease("charge", 10).await.len(), 2, "each is delivered once");
}

pub async fn a_message_accepted_twice_is_stored_once(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let envelope = envelope("pay");
    let id = bench.accept_one(envelope.clone()).await;
    let before = bench.show(id).await;
    bench.pass(SECOND);
    let answers = bench.accept(vec![envelope]).await;
    assert_eq!(answers, [Accepted::Before(Box::new(before.stored.clone()))]);
    assert_eq!(bench.show(id).await, before);
    assert_eq!(bench.lease("charge", 10).await.len(), 1);
}

pub async fn a_key_accepted_twice_is_one_message(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(keyed("pay", "order-42")).await;
    let second = keyed("pay", "order-42");
    let answers = bench.accept(vec![second.clone()]).await;
    assert_eq!(answers.iter().map(id_of).collect::<Vec<_>>(), [Some(first)]);
    assert_eq!(bench.find(second.message.id).await, None, "the second is not stored");
    assert_eq!(bench.list(DeliveryFilter::default()).await.len(), 1);
}

pub async fn a_duplicate_is_answered_with_the_first_as_it_was(database: &dyn TestDatabase) {
    let mut bench = Bench::open(database).await;
    let mut first = keyed("pay", "clé-🔑");
    first.message.payload = bytes(r#"{ "b":1.50, "a":"é" }"#);
    first.message.headers = [("trace", "abc"), ("üser", "ø")].into_iter().collect();
    first.message.ordering_key = Some("account-1".to_owned());
    first.message.concurrency_key = Some("gateway-1".to_owned());
    first.message.correlation_id = Some("conversation".to_owned());
    first.message.causation_id = Some("cause".to_owned());
    first.message.tenant = String::from("acme");
    first.message.deliver_by = Some(bench.later(SECOND));
    let stored = StoredMessage { message: first.message.clone(), accepted_at: bench.now };
    bench.accept_one(first.clone()).await;

    bench.pass(SECOND);
    let mut second = keyed("pay", "clé-🔑");
    second.message.tenant = String::from("acme");
    second.message.headers = Headers::new();
    let answers = bench.accept(vec![second]).await;
    let [Accepted::Before(found)] = &answers[..] else { panic!("it was accepted: {answers:?}") };
    let (mut found, payload) = (found.clone(), stored.message.payload.clone());
    assert!(same_json(&found.message.payload, &payload), "the first one's payload");
    found.message.payload = payload;
    assert!(*found == stored, "the first, field for field");
}

pub async fn a_duplicate_with_another_payload_changes_nothing(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let id = bench.accept_one(keyed("pay", "k")).await;
    let before = bench.show(id).await;
    // Whether that is an error is decided by whoever asked the store.
    for on_conflict in [OnConflict::KeepFirst, OnConflict::Refuse] {
        let mut second = keyed("pay", "k");
        second.message.payload = bytes(r#"{"payment_id":43}"#);
        second.on_conflict = on_conflict;
        let answers = bench.accept(vec![second]).await;
        assert_eq!(answers, [Accepted::Before(Box::new(before.stored.clone()))]);
    }
    assert_eq!(bench.show(id).await, before);
}

pub async fn of_duplicates_in_one_call_the_first_stands(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let (first, second, same) = (keyed("pay", "k"), keyed("pay", "k"), envelope("pay"));
    let batch = vec![first.clone(), second.clone(), same.clone(), same.clone()];
    let answers = bench.accept(batch).await;
    let named: Vec<_> = answers.iter().map(id_of).collect();
    assert_eq!(named, [None, Some(first.message.id), None, Some(same.message.id)]);
    assert_eq!(bench.find(second.message.id).await, None, "the second is not stored");
    assert_eq!(bench.list(DeliveryFilter::default()).await.len(), 2);
}

pub async fn a_key_is_remembered_after_its_message_is_settled(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.register("pay", "charge").await;
    let first = bench.accept_one(keyed("pay", "k")).await;
    bench.settled(&bench.lease_one("charge").await, DONE).await;
    let answers = bench.accept(vec![keyed("pay", "k")]).await;
    assert_eq!(answers.iter().map(id_of).collect::<Vec<_>>(), [Some(first)]);
    assert_eq!(bench.lease("charge", 10).await.len(), 0, "nothing is to be done again");
}
