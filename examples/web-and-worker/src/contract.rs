use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

/// Confirms an order to its customer. One order is confirmed once, however often it is posted.
#[inbox_contract(name = "shop.confirm-order", version = 1, idempotency_key = "order:{order}")]
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmOrder {
    /// The order, as its customer names it.
    pub order: String,
    /// What it costs.
    pub amount_cents: i64,
}
