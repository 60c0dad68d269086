use inbox::contract;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Archive<T>(T);

contract!(Archive<String>, name = "archive", version = 1, ordering_key = "{self}");

fn main() {}
