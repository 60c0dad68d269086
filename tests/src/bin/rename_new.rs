//! The program after its handler was renamed.

#[path = "rename_kit/program.rs"]
mod program;

use inbox::handler;
use inbox_tests::BoxError;

use program::Pay;

#[handler(key = "charge-card", legacy = ["charge"])]
async fn charge_card(_command: Pay) {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    program::run().await
}
