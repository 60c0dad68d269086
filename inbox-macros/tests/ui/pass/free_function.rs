use inbox::{Context, Headers, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[derive(Clone)]
struct Gateway;

#[handler(key = "pay")]
async fn pay(_command: Pay, State(_gateway): State<Gateway>, _context: Context, _headers: Headers) {}

fn main() {}
