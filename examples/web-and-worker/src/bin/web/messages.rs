use axum::Json;
use axum::extract::{Path, State};
use inbox::MessageId;
use serde::Serialize;

use crate::Shop;
use crate::problem::Problem;

/// How far a message is. What its handler said when it failed is for operators.
#[derive(Serialize)]
pub(crate) struct Status {
    message_id: MessageId,
    state: &'static str,
    attempts: u32,
}

/// `GET /messages/{id}`
pub(crate) async fn show(
    State(shop): State<Shop>,
    Path(id): Path<String>,
) -> Result<Json<Status>, Problem> {
    let message_id: MessageId =
        id.parse().map_err(|error| Problem::bad_request(format!("{error}")))?;
    let record = shop.inbox.status(message_id).await?;
    // A command has one delivery; an event would have one for each of its handlers.
    let delivery = record.and_then(|record| record.deliveries.into_iter().next());
    let delivery = delivery.ok_or_else(|| Problem::not_found("there is no such message"))?;
    let (state, attempts) = (delivery.state.as_str(), delivery.attempts);
    Ok(Json(Status { message_id, state, attempts }))
}
