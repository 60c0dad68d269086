use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "archive", version = 1)]
#[derive(Serialize, Deserialize)]
struct Archive<T> { content: T }

fn main() {}
