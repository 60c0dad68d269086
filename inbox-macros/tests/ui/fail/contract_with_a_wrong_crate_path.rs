use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1, crate = nowhere)]
#[derive(Serialize, Deserialize)]
struct Pay;

fn main() {}
