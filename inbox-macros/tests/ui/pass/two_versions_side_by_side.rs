use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1;

#[inbox_contract(name = "pay", version = 2)]
#[derive(Serialize, Deserialize)]
struct PayV2;

#[handler(key = "pay-v1")]
async fn pay_v1(_command: PayV1) {}

#[handler(key = "pay-v2")]
async fn pay_v2(_command: PayV2) {}

fn main() {}
