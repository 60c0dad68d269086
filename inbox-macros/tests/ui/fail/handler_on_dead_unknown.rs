use inbox::{handler, inbox_contract};

#[inbox_contract(name = "pay", version = 1, ordering_key = "{account}")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Pay {
    account: u64,
}

#[handler(key = "pay", on_dead = pass)]
async fn pay(_command: Pay) {}

fn main() {}
