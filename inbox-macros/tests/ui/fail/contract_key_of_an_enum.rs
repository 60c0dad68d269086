use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "shape", version = 1, ordering_key = "{radius}")]
#[derive(Serialize, Deserialize)]
enum Shape {
    Circle { radius: u32 },
    Dot,
}

fn main() {}
