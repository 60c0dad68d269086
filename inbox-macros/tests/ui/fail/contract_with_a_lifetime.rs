use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "note", version = 1)]
#[derive(Serialize, Deserialize)]
struct Note<'a> { text: &'a str }

fn main() {}
