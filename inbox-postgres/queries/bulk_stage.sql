-- What has a key is put aside first, and taken from there in the order of keys.
CREATE TEMP TABLE inbox_bulk (
    id              uuid,
    tenant          text,
    contract        text,
    version         integer,
    payload         jsonb,
    headers         jsonb,
    ordering_key    text,
    concurrency_key text,
    correlation_id  text,
    causation_id    text,
    deliver_by      timestamptz,
    accepted_at     timestamptz,
    idempotency_key text,
    place           bigint,
    priority        smallint,
    due_at          timestamptz
) ON COMMIT DROP;
CREATE INDEX ON inbox_bulk (
    tenant COLLATE "C", contract COLLATE "C", idempotency_key COLLATE "C", place
)
