use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay")]
async fn pay<'a>(_command: Pay, _name: State<&str>, _other: State<&'a str>) {}

fn main() {}
