use inbox::{Registry, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "payments.paid", version = 1)]
#[derive(Serialize, Deserialize)]
struct Paid;

#[handler(key = "send-receipt")]
async fn send_receipt(_event: Paid) {}

#[handler(key = "book-revenue")]
async fn book_revenue(_event: Paid) {}

fn main() {
    let registry = Registry::builder().build().unwrap();
    let keys: Vec<_> = registry.handlers_of("payments.paid", 1).map(|h| h.descriptor().key).collect();
    assert_eq!(keys, ["book-revenue", "send-receipt"]);
}
