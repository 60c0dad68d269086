use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "tick", version = 1, ordering_key = "the-clock")]
#[derive(Serialize, Deserialize)]
struct Tick;

#[inbox_contract(name = "pair", version = 1, idempotency_key = "{0}/{1:03}")]
#[derive(Serialize, Deserialize)]
struct Pair(String, u8);

#[inbox_contract(name = "shape", version = 1)]
#[derive(Serialize, Deserialize)]
enum Shape {
    Circle { radius: u32 },
    Dot,
}

fn main() {
    use inbox::Contract;
    assert_eq!(Pair("a".to_owned(), 7).idempotency_key().unwrap(), "a/007");
    assert_eq!(Tick.ordering_key().unwrap(), "the-clock");
    assert_eq!(Shape::Dot.idempotency_key(), None);
    drop(Shape::Circle { radius: 1 });
}
