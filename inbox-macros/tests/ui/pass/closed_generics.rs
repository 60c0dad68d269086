use inbox::{contract, handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Archive<T> { id: u64, content: T }

contract!(Archive<String>, name = "archive-text", version = 1, idempotency_key = "{id}");
contract!(Archive<std::collections::BTreeMap<u8, u8>>, name = "archive-map", version = 1);

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Tagged<T: ?Sized>(std::marker::PhantomData<fn() -> Box<T>>);

contract!(Tagged<dyn Iterator<Item = u8>>, name = "tagged", version = 1);

#[handler(key = "archive-text")]
async fn archive(command: Archive<String>) {
    drop(command.content);
}

fn main() {}
