use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order { id: u64, line: (u8, u8) }

#[inbox_contract(name = "ship", version = 1, idempotency_key = "{{{order.id}}}:{order.line.1}")]
#[derive(Serialize, Deserialize)]
struct Ship { order: Order }

fn main() {
    use inbox::Contract;
    let ship = Ship { order: Order { id: 7, line: (1, 2) } };
    assert_eq!(ship.idempotency_key().unwrap(), "{7}:2");
}
