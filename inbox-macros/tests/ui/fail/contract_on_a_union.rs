use inbox::inbox_contract;

#[inbox_contract(name = "bits", version = 1)]
union Bits {
    int: u32,
    float: f32,
}

fn main() {}
