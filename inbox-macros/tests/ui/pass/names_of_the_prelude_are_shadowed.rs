#![no_implicit_prelude]
#![allow(dead_code, non_camel_case_types)]

mod hostile {
    pub struct Option;
    pub struct Result;
    pub struct String;
    pub struct Some;
    pub struct u32;
    pub mod core {}
    pub mod std {}
}
#[allow(unused_imports)]
use hostile::*;

#[::inbox::inbox_contract(name = "pay", version = 1, idempotency_key = "{id}")]
#[derive(::serde::Serialize, ::serde::Deserialize)]
struct Pay { id: u64 }

#[::inbox::handler(key = "pay", timeout = "1s", retry(delays = ["1s"]))]
async fn pay(_command: Pay, _state: ::inbox::State<u8>) {}

fn main() {}
