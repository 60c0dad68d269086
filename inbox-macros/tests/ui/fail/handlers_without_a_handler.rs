use inbox::handlers;

struct Payments;

#[handlers]
impl Payments {
    pub async fn pay(&self) {}
}

fn main() {}
