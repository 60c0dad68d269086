/// The statement in `queries/<name>.sql`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../queries/", $name, ".sql"))
    };
}

/// The same, for the second of two that are read at once: of each text, the connection keeps one.
macro_rules! sql_beside {
    ($name:literal) => {
        concat!(include_str!(concat!("../queries/", $name, ".sql")), "-- Beside the other.\n")
    };
}

pub(crate) use {sql, sql_beside};
