use inbox::{State, handler, inbox_contract};
use serde::{Deserialize, Serialize};

#[inbox_contract(name = "move", version = 1, ordering_key = "{type}")]
#[derive(Serialize, Deserialize)]
struct r#Move { r#type: String, to: u8 }

#[handler(key = "move")]
async fn r#move(Move { r#type, to }: Move, mut state: State<u8>) {
    *state += to;
    assert!(state.0 > 0);
    drop(r#type);
}

fn main() {
    use inbox::Contract;
    let command = Move { r#type: "knight".to_owned(), to: 3 };
    assert_eq!(command.ordering_key().unwrap(), "knight");
}
