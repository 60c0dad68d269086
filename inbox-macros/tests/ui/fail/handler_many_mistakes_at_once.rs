use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(legacy = ["a b", "c", "c"], timeout = "soon", max_attempts = 0, colour = 1)]
fn pay(_command: &Pay) {}

fn main() {}
