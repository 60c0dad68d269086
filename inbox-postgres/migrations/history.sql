-- What was applied. It comes before the first migration, and never changes.
CREATE TABLE IF NOT EXISTS :schema.migration (
    version    integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
