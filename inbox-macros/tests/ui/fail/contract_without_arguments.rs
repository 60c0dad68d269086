use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract]
#[derive(Serialize, Deserialize)]
struct Pay;

fn main() {}
