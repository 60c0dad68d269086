use inbox::handler;

struct Pay;

#[handler(key = "pay")]
async fn pay(_command: Pay) {}

fn main() {}
