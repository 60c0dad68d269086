use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct PayV1 { id: u32 }

#[inbox_contract(name = "pay", version = 2, upgrades = PayV1)]
#[derive(Serialize, Deserialize)]
struct PayV2 { id: u64 }

#[inbox_contract(name = "pay", version = 5, upgrades = PayV2)]
#[derive(Serialize, Deserialize)]
struct Pay { id: String }

impl From<PayV1> for PayV2 {
    fn from(old: PayV1) -> Self {
        PayV2 { id: old.id.into() }
    }
}

impl From<PayV2> for Pay {
    fn from(old: PayV2) -> Self {
        Pay { id: old.id.to_string() }
    }
}

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

fn main() {
    use inbox::Contract;
    assert_eq!(Pay::LINEAGE.versions().collect::<Vec<_>>(), [5, 2, 1]);
}
