//! What a careful program would write by hand, without a library: one table, its status updated in
//! place. No fence, no history, no retries.

/// The table.
pub(crate) const TABLE: &str = "CREATE TABLE raw_job (
    id      bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payload jsonb    NOT NULL,
    status  smallint NOT NULL DEFAULT 0
);
CREATE INDEX raw_job_waiting ON raw_job (id) WHERE status = 0";

/// One row.
pub(crate) const INSERT: &str =
    "INSERT INTO raw_job (payload) VALUES ($1::text::jsonb) RETURNING id";

/// Many rows.
pub(crate) const INSERT_MANY: &str =
    "INSERT INTO raw_job (payload) SELECT unnest($1::text[])::jsonb RETURNING id";

/// The next rows for one worker.
pub(crate) const CLAIM: &str = "UPDATE raw_job SET status = 1
WHERE id = ANY (ARRAY(
    SELECT id FROM raw_job WHERE status = 0 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
))
RETURNING id, payload::text";

/// Those are done.
pub(crate) const DONE: &str = "UPDATE raw_job SET status = 2 WHERE id = ANY ($1)";
