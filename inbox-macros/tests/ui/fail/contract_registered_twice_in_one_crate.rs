use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay;

mod other {
    #[inbox::inbox_contract(name = "pay", version = 1)]
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Pay;
}

fn main() {}
