use inbox::contract;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Archive<T>(T);

contract!(Archive<String>);

fn main() {}
