use inbox::{Context, State, handler, handlers, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "pay", version = 1)]
#[derive(Serialize, Deserialize)]
struct Pay { id: u64 }

struct Payments;

#[handlers]
impl Payments {
    pub const LIMIT: u64 = 100;

    #[handler(key = "pay")]
    async fn pay(&self, command: Pay, _context: Context) -> Result<(), String> {
        if command.id > Self::LIMIT { Err(self.refusal()) } else { Ok(()) }
    }

    #[inbox::handler(key = "pay-shared")]
    async fn pay_shared(self: std::sync::Arc<Self>, _command: Pay) {}

    #[handler(key = "pay-static")]
    async fn pay_static(_command: Pay, _owner: State<std::sync::Arc<Self>>) {}

    fn refusal(&self) -> String {
        "too high".to_owned()
    }
}

fn main() {
    let registry = inbox::Registry::builder().state(std::sync::Arc::new(Payments)).build();
    assert_eq!(registry.unwrap().handlers().len(), 3);
}
