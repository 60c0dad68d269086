use inbox::schedule::ScheduleError;
use inbox::sqlite::SqliteStore;
use inbox::{Context, Scheduler, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

use crate::shipping::ShipOrder;

#[inbox_contract(name = "billing.charge-order", version = 1, idempotency_key = "order:{order}")]
#[derive(Serialize, Deserialize)]
pub(crate) struct ChargeOrder {
    pub(crate) order: u64,
}

/// The way into the other context. It has a type of its own because `State<Scheduler<SqliteStore>>` is
/// the scheduler of this one.
#[derive(Clone)]
pub(crate) struct ToShipping(pub(crate) Scheduler<SqliteStore>);

/// The two stores share no transaction: should this process crash after it has scheduled, it charges
/// and schedules again. The contract's key makes the second one the same message.
#[handler(key = "charge", context = "billing")]
async fn charge(
    command: ChargeOrder,
    State(ToShipping(shipping)): State<ToShipping>,
    context: Context,
) -> Result<(), ScheduleError> {
    let order = command.order;
    println!("billing: order {order} is charged");
    shipping.schedule(ShipOrder { order }, context.follow_up()).await?;
    Ok(())
}
