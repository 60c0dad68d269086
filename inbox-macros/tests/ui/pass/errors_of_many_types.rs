use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[derive(Debug)]
struct Declined;

impl std::fmt::Display for Declined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("declined")
    }
}

impl std::error::Error for Declined {}

#[handler(key = "own-error")]
async fn own_error(_command: Pay) -> Result<(), Declined> {
    Err(Declined)
}

#[handler(key = "boxed")]
async fn boxed(_command: Pay) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("declined".into())
}

#[handler(key = "io")]
async fn io(_command: Pay) -> std::io::Result<()> {
    Ok(())
}

#[handler(key = "static-text")]
async fn static_text(_command: Pay) -> Result<(), &'static str> {
    Err("declined")
}

fn main() {}
