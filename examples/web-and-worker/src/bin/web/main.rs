//! cargo run -p web-and-worker --bin web
//!
//! Takes orders. An order and the command to confirm it are stored in one transaction, or neither is.
//!
//! ```sh
//! curl -i localhost:3000/orders --json '{"order": "A-1", "amount_cents": 1999}'
//! curl -i localhost:3000/messages/MESSAGE_ID
//! ```

mod messages;
mod orders;
mod problem;

use axum::Router;
use axum::routing::{get, post};
use inbox::postgres::PostgresStore;
use inbox::postgres::deadpool_postgres::Pool;
use inbox::{Inbox, shutdown_signal};
use web_and_worker::{Database, listen};

/// What every request can use.
#[derive(Clone)]
struct Shop {
    pool: Pool,
    inbox: Inbox<PostgresStore>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let Database { pool, store } = Database::connect().await?;
    // It only schedules: the worker has the handlers, and this process has no host.
    let inbox = Inbox::builder(store).scheduler_only().build().await?;
    let routes = Router::new()
        .route("/orders", post(orders::place))
        .route("/messages/{id}", get(messages::show))
        .with_state(Shop { pool, inbox });
    let listener = listen(3000).await?;
    axum::serve(listener, routes).with_graceful_shutdown(shutdown_signal()).await?;
    Ok(())
}
