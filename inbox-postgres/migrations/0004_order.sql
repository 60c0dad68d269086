-- Order and limits, for the whole fleet: what holds a lane or a slot, and what waits behind it.

-- The key that a handler had first; empty, if that is its own. Lanes and slots go by it, so that a rename
-- neither breaks an order nor doubles a limit.
ALTER TABLE :schema.route ADD first_key text NOT NULL DEFAULT '';

-- An ordering key in use: the delivery that is its head, and that alone, may be leased. It keeps the lane
-- while it is leased, waits for its retry or comes back from a worker that vanished. The primary key is what
-- makes two in flight impossible.
CREATE TABLE :schema.lane (
    handler_key  text        NOT NULL,
    tenant       text        NOT NULL,
    ordering_key text        NOT NULL,
    message_id   uuid        NOT NULL,
    head_key     text        NOT NULL,
    since        timestamptz NOT NULL,
    CONSTRAINT lane_pkey PRIMARY KEY (handler_key, tenant, ordering_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX lane_head ON :schema.lane (message_id, head_key);

-- One unit of a limit in use: of a concurrency key, or, where that is empty, of the handler. It is held as
-- long as the delivery is leased.
CREATE TABLE :schema.slot (
    handler_key     text        NOT NULL,
    tenant          text        NOT NULL,
    concurrency_key text        NOT NULL,
    n               integer     NOT NULL,
    token           uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    since           timestamptz NOT NULL,
    CONSTRAINT slot_pkey PRIMARY KEY (handler_key, tenant, concurrency_key, n),
    CONSTRAINT slot_number_is_positive CHECK (n > 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX slot_holder ON :schema.slot (token, message_id);

-- Nothing, for messages without keys. The index is by bytes, as only so is it alone in fitting the question
-- whether there is an earlier one in the same lane.
ALTER TABLE :schema.ready ADD ordering_key text, ADD concurrency_key text;
CREATE INDEX ready_lane
    ON :schema.ready (handler_key COLLATE "C", tenant COLLATE "C", ordering_key COLLATE "C", seq)
    WHERE ordering_key IS NOT NULL;
UPDATE :schema.ready AS ready
SET ordering_key = message.ordering_key, concurrency_key = message.concurrency_key
FROM :schema.message AS message
WHERE message.id = ready.message_id
  AND (message.ordering_key IS NOT NULL OR message.concurrency_key IS NOT NULL);

-- Behind what a delivery waits: a lane or a slot, of the handler that had `first_key`, and of the key that is
-- shared; `seq` is its turn.
ALTER TABLE :schema.waiting
    ADD first_key text, ADD tenant text, ADD shared_key text, ADD seq bigint,
    DROP CONSTRAINT waiting_reason_is_known,
    ADD CONSTRAINT waiting_reason_is_known
        CHECK (reason IN ('delay', 'retry', 'no-route', 'lane', 'slot')),
    ADD CONSTRAINT waiting_behind_something CHECK (
        CASE WHEN reason IN ('lane', 'slot')
             THEN num_nulls(first_key, tenant, shared_key, seq) = 0 AND handler_key <> ''
             ELSE num_nonnulls(first_key, tenant, shared_key, seq) = 0 END
    );
CREATE INDEX waiting_behind ON :schema.waiting (reason, first_key, tenant, shared_key, seq)
    WHERE shared_key IS NOT NULL;
DROP INDEX :schema.waiting_due;
CREATE INDEX waiting_due ON :schema.waiting (due_at) WHERE handler_key <> '' AND shared_key IS NULL;

-- Whether what is behind a dead one waits: the worker that leased it said so.
ALTER TABLE :schema.lease ADD blocks boolean NOT NULL DEFAULT true;
ALTER TABLE :schema.dead ADD blocks boolean NOT NULL DEFAULT true;

CREATE OR REPLACE VIEW :schema.delivery AS
SELECT place.message_id, nullif(place.handler_key, '') AS handler_key, message.contract,
       place.state, place.attempts, place.due_at, place.lease_expires_at, place.settled_at,
       place.reason, place.error
FROM (
    SELECT message_id, handler_key, 'pending' AS state, attempts, NULL::timestamptz AS due_at,
           NULL::timestamptz AS lease_expires_at, NULL::timestamptz AS settled_at,
           NULL::text AS reason, NULL::text AS error
    FROM :schema.ready
    UNION ALL
    SELECT held.message_id, lease.handler_key, 'processing',
           coalesce(held.attempt, lease.attempts[1]), NULL, lease.expires_at, NULL, NULL, NULL
    FROM :schema.lease AS lease
    CROSS JOIN LATERAL unnest(lease.message_ids, lease.attempts)
        WITH ORDINALITY AS held (message_id, attempt, place)
    WHERE get_bit(lease.open, held.place::integer - 1) = 1
    UNION ALL
    SELECT message_id, handler_key, 'waiting', attempts,
           CASE WHEN handler_key <> '' AND shared_key IS NULL THEN due_at END, NULL, NULL, reason,
           error
    FROM :schema.waiting
    UNION ALL
    SELECT message_id, handler_key, 'dead', attempts, NULL, NULL, dead_at, reason, error
    FROM :schema.dead
    UNION ALL
    SELECT message_id, handler_key, outcome, attempts, NULL, NULL, done_at, NULL, NULL
    FROM :schema.done
) AS place
LEFT JOIN :schema.message AS message ON message.id = place.message_id;

-- As before; what is ready brings its keys along.
CREATE OR REPLACE FUNCTION :schema.schedule(
    contract        text,
    version         integer,
    payload         jsonb,
    idempotency_key text        DEFAULT NULL,
    ordering_key    text        DEFAULT NULL,
    concurrency_key text        DEFAULT NULL,
    start_at        timestamptz DEFAULT NULL,
    delay           interval    DEFAULT NULL,
    deliver_by      timestamptz DEFAULT NULL,
    priority        text        DEFAULT 'normal',
    correlation_id  text        DEFAULT NULL,
    causation_id    text        DEFAULT NULL,
    tenant          text        DEFAULT '',
    headers         jsonb       DEFAULT '{}',
    id              uuid        DEFAULT NULL,
    clock           timestamptz DEFAULT NULL,
    notify          boolean     DEFAULT false,
    OUT message_id      uuid,
    OUT accepted_at     timestamptz,
    OUT is_new          boolean,
    OUT payload_matches boolean
)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_variable
DECLARE
    level smallint := array_position(ARRAY['low', 'normal', 'high', 'urgent'], priority) - 1;
    due   timestamptz;
BEGIN
    headers := coalesce(headers, '{}');
    PERFORM :schema.check_name('contract', contract, coalesce(contract, '')),
            :schema.check_name('idempotency key', contract, idempotency_key),
            :schema.check_name('ordering key', contract, ordering_key),
            :schema.check_name('concurrency key', contract, concurrency_key),
            :schema.check_name('correlation id', contract, correlation_id),
            :schema.check_name('causation id', contract, causation_id),
            :schema.check_name('tenant', contract, nullif(tenant, ''));
    IF version IS NULL OR version < 1 THEN
        RAISE EXCEPTION 'version % of contract `%` is none: versions begin at 1', version, contract
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF payload IS NULL THEN
        RAISE EXCEPTION 'a message of contract `%` has no payload', contract
            USING HINT = 'for a command without content write ''null''::jsonb',
                  ERRCODE = 'invalid_parameter_value';
    ELSIF level IS NULL THEN
        RAISE EXCEPTION '`%` is no priority', priority
            USING HINT = 'write low, normal, high or urgent', ERRCODE = 'invalid_parameter_value';
    ELSIF start_at IS NOT NULL AND delay IS NOT NULL THEN
        RAISE EXCEPTION 'a message of contract `%` has both a start and a delay', contract
            USING HINT = 'give one of them', ERRCODE = 'invalid_parameter_value';
    ELSIF jsonb_typeof(headers) <> 'object'
       OR EXISTS (SELECT 1 FROM jsonb_each(headers) WHERE jsonb_typeof(value) <> 'string') THEN
        RAISE EXCEPTION 'the headers of a message of contract `%` are no object of strings', contract
            USING HINT = 'write them like {"name": "value"}', ERRCODE = 'invalid_parameter_value';
    ELSIF NOT isfinite(coalesce(start_at, '2000-01-01')) THEN
        RAISE EXCEPTION 'a message of contract `%` starts at no moment', contract
            USING HINT = 'infinity is none: leave the start out, or give a date',
                  ERRCODE = 'invalid_parameter_value';
    END IF;

    LOOP
        message_id := coalesce(id, :schema.new_message_id());
        accepted_at := coalesce(clock, clock_timestamp());
        INSERT INTO :schema.message (
            id, tenant, contract, version, payload, headers, idempotency_key, ordering_key,
            concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
        )
        VALUES (
            message_id, coalesce(tenant, ''), contract, version, payload, headers, idempotency_key,
            ordering_key, concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
        )
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            is_new := true;
            EXIT;
        END IF;
        -- In a statement of its own, which sees what was committed while the insert waited.
        SELECT first.id, first.accepted_at, first.payload = payload AND first.version = version
        INTO message_id, accepted_at, payload_matches
        FROM :schema.message AS first
        WHERE first.id = id
           OR (first.tenant = coalesce(tenant, '') AND first.contract = contract
               AND first.idempotency_key = idempotency_key)
        LIMIT 1;
        IF FOUND THEN
            is_new := false;
            RETURN;
        END IF;
        -- The one in the way was rolled back or removed: try again.
    END LOOP;

    due := greatest(accepted_at, coalesce(start_at, accepted_at + delay, accepted_at));
    IF due <= accepted_at THEN
        INSERT INTO :schema.ready (
            handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
        )
        SELECT route.handler_key, level, version, message_id, coalesce(tenant, ''), ordering_key,
               concurrency_key
        FROM :schema.route AS route
        WHERE route.contract = contract AND route.superseded_by IS NULL
        ORDER BY route.handler_key;
    ELSE
        INSERT INTO :schema.waiting (message_id, handler_key, version, priority, due_at, reason)
        SELECT message_id, route.handler_key, version, level, due, 'delay'
        FROM :schema.route AS route
        WHERE route.contract = contract AND route.superseded_by IS NULL;
    END IF;
    IF NOT FOUND THEN
        INSERT INTO :schema.waiting (message_id, contract, version, priority, due_at, reason)
        VALUES (message_id, contract, version, level, due, 'no-route');
    END IF;
    IF notify THEN
        PERFORM pg_notify(:channel, '');
    END IF;
END
$$;
