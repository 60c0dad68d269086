/// The statement in `queries/<name>.sql`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../queries/", $name, ".sql"))
    };
}

pub(crate) use sql;
