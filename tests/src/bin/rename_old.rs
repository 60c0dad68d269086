//! The program before its handler was renamed.

#[path = "rename_kit/program.rs"]
mod program;

use inbox::handler;
use inbox_tests::BoxError;

use program::Pay;

#[handler(key = "charge")]
async fn charge(_command: Pay) {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    program::run().await
}
