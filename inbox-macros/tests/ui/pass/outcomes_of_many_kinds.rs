use std::time::Duration;

use inbox::{Batch, Outcome, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "outcome")]
async fn outcome(command: Pay) -> Outcome {
    match command.id {
        0 => Outcome::Completed,
        1 => Outcome::retry_after(Duration::from_secs(1)),
        2 => Outcome::snooze(Duration::from_secs(1)),
        3 => Outcome::discard("nothing to do"),
        4 => Outcome::cancel("not wanted"),
        _ => Outcome::dead_letter("no use"),
    }
}

#[handler(key = "outcome-or-error")]
async fn outcome_or_error(_command: Pay) -> Result<Outcome, String> {
    Ok(Outcome::Completed)
}

#[handler(key = "batch", batch = 9)]
async fn batch(_commands: Batch<Pay>) {}

#[handler(key = "batch-or-error", batch = 9)]
async fn batch_or_error(_commands: Batch<Pay>) -> Result<(), String> {
    Ok(())
}

#[handler(key = "batch-outcome", batch = 9)]
async fn batch_outcome(_commands: Batch<Pay>) -> Result<Outcome, String> {
    Ok(Outcome::Completed)
}

#[handler(key = "batch-each", batch = 9)]
async fn batch_each(commands: Batch<Pay>) -> Vec<Outcome> {
    commands.into_iter().map(|_| Outcome::Completed).collect()
}

#[handler(key = "batch-each-or-error", batch = 9)]
async fn batch_each_or_error(
    commands: Batch<Pay>,
) -> Result<Vec<Result<(), String>>, std::io::Error> {
    Ok(commands.into_iter().map(|_| Ok(())).collect())
}

fn main() {}
