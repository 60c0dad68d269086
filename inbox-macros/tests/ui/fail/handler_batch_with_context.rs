use inbox::{Batch, Context, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay", batch = 100)]
async fn pay(_commands: Batch<Pay>, _context: Context) {}

fn main() {}
