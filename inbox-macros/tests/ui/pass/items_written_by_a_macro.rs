use inbox::{Batch, Lend, State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

struct Ledger;

impl Lend for Ledger {}

macro_rules! command {
    ($name:ident, $wire:literal, $version:expr, $function:ident, $key:literal, $legacy:literal, $state:ty, $batch:ty, $lent:ty) => {
        #[inbox_contract(name = $wire, version = $version)]
        #[derive(Serialize, Deserialize)]
        struct $name;

        #[handler(key = $key, legacy = [$legacy], retry(delays = ["1s"]))]
        async fn $function(_command: $name, _state: $state, _ledger: $lent) {}

        mod batches {
            use super::*;

            #[handler(key = "batch", batch = 10, timeout = "1s")]
            async fn batch(_commands: $batch) {}
        }
    };
}

command!(Pay, "pay", 1, pay, "pay", "charge", State<u8>, Batch<Pay>, &mut Ledger);

fn main() {}
