use inbox_core::store::DeliveryFilter;

use crate::conformance::TestDatabase;
use crate::conformance::kit::{Bench, envelope, id_of, is_new, keyed};

pub async fn the_same_key_of_another_tenant_is_another_message(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    for tenant in ["", "acme", "other"] {
        let mut envelope = keyed("pay", "k");
        tenant.clone_into(&mut envelope.message.tenant);
        let id = bench.accept_one(envelope.clone()).await;
        envelope.message.id = inbox_core::message::MessageId::new();
        let again = bench.accept(vec![envelope]).await;
        assert_eq!(id_of(&again[0]), Some(id), "tenant `{tenant}` has its own");
    }
}

pub async fn the_same_key_of_another_contract_is_another_message(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    bench.accept_one(keyed("pay", "k")).await;
    bench.accept_one(keyed("mail", "k")).await;
}

pub async fn a_key_is_one_for_every_version_of_a_contract(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let first = bench.accept_one(keyed("pay", "k")).await;
    let mut second = keyed("pay", "k");
    second.message.version = 2;
    assert_eq!(id_of(&bench.accept(vec![second]).await[0]), Some(first));
}

pub async fn keys_differ_as_soon_as_one_byte_does(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let long = "ж".repeat(199);
    // Composed and decomposed, a letter looks the same and is not.
    let keys = ["k", "K", "k ", " k", "é", "e\u{301}", "%", "_", "0", "00"];
    let keys = keys.map(str::to_owned).into_iter().chain([format!("{long}a"), format!("{long}b")]);
    let batch: Vec<_> = keys.map(|key| keyed("pay", &key)).collect();
    let answers = bench.accept(batch).await;
    assert!(answers.iter().all(is_new), "every key is another: {answers:?}");
}

pub async fn tenant_contract_and_key_are_not_run_together(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let split =
        [("", "abc", "d"), ("a", "bc", "d"), ("ab", "c", "d"), ("a", "b", "cd"), ("", "a", "bcd")];
    for (tenant, contract, key) in split {
        let mut envelope = keyed(contract, key);
        tenant.clone_into(&mut envelope.message.tenant);
        bench.accept_one(envelope).await;
    }
}

pub async fn messages_without_a_key_are_never_duplicates(database: &dyn TestDatabase) {
    let bench = Bench::open(database).await;
    let answers = bench.accept(vec![envelope("pay"), envelope("pay")]).await;
    assert!(answers.iter().all(is_new), "both are new: {answers:?}");
    bench.accept_one(envelope("pay")).await;
    assert_eq!(bench.list(DeliveryFilter::default()).await.len(), 3);
}
