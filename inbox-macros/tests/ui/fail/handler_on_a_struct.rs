use inbox::handler;

#[handler(key = "pay")]
struct Pay;

fn main() {}
