-- What has a key is put aside first, and taken from there in the order of keys.
CREATE TEMP TABLE inbox_bulk (
    place           bigint,
    id              uuid,
    tenant          text,
    contract        text,
    version         integer,
    payload         jsonb,
    headers         jsonb,
    idempotency_key text,
    ordering_key    text,
    concurrency_key text,
    correlation_id  text,
    causation_id    text,
    deliver_by      timestamptz,
    accepted_at     timestamptz,
    priority        smallint,
    due_at          timestamptz
) ON COMMIT DROP;
CREATE INDEX ON inbox_bulk (tenant, contract, idempotency_key, place)
