-- Scheduling from SQL, for every client and language: in the caller's own transaction, by the same rules as
-- from Rust.

-- A UUIDv7: ids made later sort later, so rows are appended to an index instead of scattered over it.
CREATE FUNCTION :schema.new_message_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT encode(
        set_bit(set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
            ), 52, 1), 53, 1),
        'hex'
    )::uuid
$$;

-- Refuses what no store would take, in the words of the Rust API.
CREATE FUNCTION :schema.check_name(what text, contract text, name text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF name = '' AND what = 'contract' THEN
        RAISE EXCEPTION 'a message has no contract'
            USING HINT = 'the first argument is the contract''s name',
                  ERRCODE = 'invalid_parameter_value';
    ELSIF name = '' THEN
        RAISE EXCEPTION 'the % of a message of contract `%` is empty', what, contract
            USING HINT = 'leave it out instead', ERRCODE = 'invalid_parameter_value';
    ELSIF char_length(name) > 200 THEN
        RAISE EXCEPTION 'the % of a message of contract `%` has % characters, more than 200',
            what, contract, char_length(name)
            USING HINT = 'shorten it, a hash of it for instance', ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

-- Accepts one message, with a delivery for each handler that is known for its contract. A message
-- that was accepted before, by its tenant, contract and idempotency key, is answered and not stored
-- again; `payload_matches` then says whether it says the same. `id` is for those who made one, a UUIDv7,
-- and `clock` is for tests. With `notify`, workers that listen hear of a new message when it is committed;
-- commits that notify wait for each other, so it is for what is rare.
CREATE FUNCTION :schema.schedule(
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
    -- Whether something of its ordering key waits for a handler: then it waits behind that.
    waits boolean;
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
    waits := ordering_key IS NOT NULL AND (
        SELECT true
        FROM :schema.waiting AS before
        WHERE before.handler_key = '' AND before.contract = contract
          AND before.tenant = coalesce(tenant, '') AND before.ordering_key = ordering_key
        LIMIT 1
    ) IS NOT NULL;
    IF due <= accepted_at THEN
        INSERT INTO :schema.ready (
            handler_key, priority, version, message_id, tenant, ordering_key, concurrency_key
        )
        SELECT route.handler_key, level, version, message_id, coalesce(tenant, ''), ordering_key,
               concurrency_key
        FROM :schema.route AS route
        WHERE route.contract = contract AND route.superseded_by IS NULL AND NOT waits
        ORDER BY route.handler_key;
    ELSE
        INSERT INTO :schema.waiting (
            message_id, handler_key, version, priority, due_at, reason, tenant, ordering_key, concurrency_key
        )
        SELECT message_id, route.handler_key, version, level, due, 'delay', coalesce(tenant, ''), ordering_key,
               concurrency_key
        FROM :schema.route AS route
        WHERE route.contract = contract AND route.superseded_by IS NULL AND NOT waits;
    END IF;
    IF NOT FOUND THEN
        INSERT INTO :schema.waiting (
            message_id, contract, version, priority, due_at, reason, tenant, ordering_key, concurrency_key
        )
        VALUES (
            message_id, contract, version, level, due, 'no-route', coalesce(tenant, ''), ordering_key,
            concurrency_key
        );
    END IF;
    IF notify THEN
        PERFORM pg_notify(:channel, '');
    END IF;
END
$$;

-- The messages that envelopes repeat: the same id, or else the same key. Nobody is shown one without
-- its tenant and its contract.
CREATE FUNCTION :schema.accepted(
    ids              uuid[],
    tenants          text[],
    contracts        text[],
    idempotency_keys text[]
)
RETURNS TABLE (
    place bigint, id uuid, tenant text, contract text, version integer, payload jsonb, headers jsonb,
    idempotency_key text, ordering_key text, concurrency_key text, correlation_id text,
    causation_id text, deliver_by timestamptz, accepted_at timestamptz
)
LANGUAGE sql STABLE AS $$
    SELECT given.place, message.*
    FROM unnest(ids, tenants, contracts, idempotency_keys)
        WITH ORDINALITY AS given (id, tenant, contract, idempotency_key, place)
    CROSS JOIN LATERAL (
        SELECT first.id, first.tenant, first.contract, first.version, first.payload, first.headers,
               first.idempotency_key, first.ordering_key, first.concurrency_key,
               first.correlation_id, first.causation_id, first.deliver_by, first.accepted_at
        FROM :schema.message AS first
        WHERE first.id = given.id AND first.tenant = given.tenant AND first.contract = given.contract
        UNION ALL
        SELECT first.id, first.tenant, first.contract, first.version, first.payload, first.headers,
               first.idempotency_key, first.ordering_key, first.concurrency_key,
               first.correlation_id, first.causation_id, first.deliver_by, first.accepted_at
        FROM :schema.message AS first
        WHERE first.tenant = given.tenant AND first.contract = given.contract
          AND first.idempotency_key = given.idempotency_key
        LIMIT 1
    ) AS message
$$;

-- What a caller has in its own schemas, or in its temporary one, is none of theirs.
ALTER FUNCTION :schema.schedule SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION :schema.accepted SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

-- Everyone may call a new function unless that is taken away.
REVOKE EXECUTE ON FUNCTION :schema.schedule, :schema.accepted, :schema.new_message_id, :schema.check_name
    FROM PUBLIC;
