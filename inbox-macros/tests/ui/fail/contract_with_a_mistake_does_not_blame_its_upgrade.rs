use inbox::inbox_contract;
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "p a y", version = 1)]
#[derive(Serialize, Deserialize)]
struct Old { id: u64 }

#[inbox_contract(name = "pay", version = 2, upgrades = Old)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

impl From<Old> for Pay {
    fn from(old: Old) -> Self {
        Pay { id: old.id }
    }
}

fn main() {}
