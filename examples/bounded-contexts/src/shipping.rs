use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

#[inbox_contract(name = "shipping.ship-order", version = 1, idempotency_key = "order:{order}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct ShipOrder {
    pub(crate) order: u64,
}

/// Tells `main` of every parcel.
#[derive(Clone)]
pub(crate) struct Dock(pub(crate) UnboundedSender<u64>);

#[handler(key = "ship", context = "shipping")]
async fn ship(command: ShipOrder, State(Dock(parcels)): State<Dock>) -> Result<(), String> {
    println!("shipping: order {} is shipped", command.order);
    parcels.send(command.order).map_err(|_| "nobody is at the dock".to_owned())
}
