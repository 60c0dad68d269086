-- waiting for a route → ready or waiting, for messages whose contract has one by now, in the order in which they
-- were accepted. One at a time does it for a contract, so that nobody overtakes.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
routed AS MATERIALIZED (
    SELECT one.contract
    FROM (
        SELECT DISTINCT contract FROM :schema.route WHERE superseded_by IS NULL ORDER BY contract
    ) AS one
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.handler_key = '' AND waiting.contract = one.contract
        ORDER BY waiting.position
        LIMIT 1
    ) AS oldest
    -- Whoever has the oldest takes those that follow it too: others leave the contract to it.
    CROSS JOIN LATERAL (
        SELECT 1 FROM :schema.waiting AS waiting WHERE waiting.ctid = oldest.row FOR UPDATE SKIP LOCKED
    ) AS guard
),
unrouted AS MATERIALIZED (
    SELECT waiting.row
    FROM routed
    CROSS JOIN LATERAL (
        SELECT waiting.ctid AS row
        FROM :schema.waiting AS waiting
        WHERE waiting.handler_key = '' AND waiting.contract = routed.contract
        ORDER BY waiting.position
        LIMIT $2
        -- Not past those that another one takes: an older one may have been committed since it looked.
        FOR UPDATE
    ) AS waiting
    LIMIT $2
),
taken AS (
    DELETE FROM :schema.waiting WHERE ctid = ANY (ARRAY(SELECT row FROM unrouted)) RETURNING *
),
delivery AS MATERIALIZED (
    SELECT taken.position, taken.message_id, taken.version, taken.priority, taken.due_at, taken.tenant, taken.ordering_key,
           taken.concurrency_key, route.handler_key, clock.now
    FROM clock, taken
    JOIN :schema.route AS route USING (contract)
    WHERE route.superseded_by IS NULL
),
made_ready AS (
    INSERT INTO :schema.ready ({{delivery}}, position)
    SELECT {{delivery}}, position
    FROM delivery
    WHERE due_at <= now
    ORDER BY position, handler_key
    ON CONFLICT DO NOTHING
),
made_waiting AS (
    INSERT INTO :schema.waiting ({{delivery}}, due_at, reason)
    SELECT {{delivery}}, due_at, 'delay'
    FROM delivery
    WHERE due_at > now
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken
