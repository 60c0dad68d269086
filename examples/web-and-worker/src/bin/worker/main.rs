//! cargo run -p web-and-worker --bin worker
//!
//! Runs the commands that `web` schedules, until Ctrl-C or SIGTERM; then lets handlers finish.

mod probes;

use inbox::postgres::deadpool_postgres::Pool;
use inbox::{Inbox, State, handler, shutdown_signal};
use web_and_worker::{ConfirmOrder, Database, listen};

/// Handlers run at least once: confirmed again, an order stays as it was.
#[handler(key = "confirm-order", timeout = "30s", max_attempts = 10)]
async fn confirm_order(command: ConfirmOrder, State(pool): State<Pool>) -> anyhow::Result<()> {
    let confirm = "UPDATE orders SET confirmed_at = now() WHERE id = $1 AND confirmed_at IS NULL";
    pool.get().await?.execute(confirm, &[&command.order]).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let Database { pool, store } = Database::connect().await?;
    let inbox = Inbox::builder(store).state(pool).build().await?;
    let listener = listen(3001).await?;
    // It answers to the end: while handlers finish, this process is not ready.
    tokio::spawn(probes::serve(listener, inbox.control()));
    inbox.run_until(shutdown_signal()).await?;
    Ok(())
}
