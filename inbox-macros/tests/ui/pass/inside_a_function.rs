use inbox::{Registry, handler, inbox_contract};
use serde::{Deserialize, Serialize};

fn main() {
    #[inbox_contract(name = "pay", version = 1)]
    #[derive(Serialize, Deserialize)]
    struct Pay;

    #[handler(key = "pay")]
    async fn pay(_command: Pay) {}

    assert!(Registry::builder().build().unwrap().handler("pay").is_some());
}
