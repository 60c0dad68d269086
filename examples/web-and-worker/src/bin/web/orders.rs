use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderName, StatusCode, header};
use inbox::schedule::OnConflict;
use inbox::{MessageId, ScheduleOptions};
use serde::{Deserialize, Serialize};
use web_and_worker::ConfirmOrder;

use crate::Shop;
use crate::problem::Problem;

/// What a customer posts.
#[derive(Deserialize)]
pub(crate) struct Order {
    order: String,
    amount_cents: i64,
}

/// What the customer is told: where to ask how it goes.
#[derive(Serialize)]
pub(crate) struct Placed {
    message_id: MessageId,
}

/// The status, where to ask, and the body.
type Accepted = (StatusCode, [(HeaderName, String); 1], Json<Placed>);

/// `POST /orders`: posted again, it is the same order and the same message.
pub(crate) async fn place(
    State(shop): State<Shop>,
    order: Result<Json<Order>, JsonRejection>,
) -> Result<Accepted, Problem> {
    let Json(Order { order, amount_cents }) = order?;
    if order.is_empty() || order.len() > 100 {
        return Err(Problem::invalid("`order` must have 1 to 100 characters"));
    }
    if amount_cents <= 0 {
        return Err(Problem::invalid("`amount_cents` must be more than 0"));
    }
    let mut connection = shop.pool.get().await?;
    let transaction = connection.transaction().await?;
    let insert = "INSERT INTO orders (id, amount_cents) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&order, &amount_cents]).await?;
    // Under the same name, another order is refused; the transaction is rolled back with this.
    let options = ScheduleOptions::new().on_conflict(OnConflict::Refuse);
    let scheduler = shop.inbox.scheduler();
    let command = ConfirmOrder { order, amount_cents };
    let receipt = scheduler.within(&transaction).schedule(command, options).await?;
    transaction.commit().await?;
    // Nobody but us knows of the commit: workers are told, or would find it a moment later.
    scheduler.wake();
    let message_id = receipt.message_id();
    let location = (header::LOCATION, format!("/messages/{message_id}"));
    Ok((StatusCode::ACCEPTED, [location], Json(Placed { message_id })))
}
