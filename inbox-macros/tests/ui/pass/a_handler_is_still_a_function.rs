use inbox::{handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

#[handler(key = "pay")]
async fn pay(command: Pay) -> Result<(), String> {
    if command.id == 0 { Err("no id".to_owned()) } else { Ok(()) }
}

fn main() {
    let mut future = std::pin::pin!(pay(Pay { id: 0 }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = std::future::Future::poll(future.as_mut(), &mut context);
    assert_eq!(polled, std::task::Poll::Ready(Err("no id".to_owned())));
}
