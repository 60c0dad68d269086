-- The state of a delivery is the table it is in; a move is one statement.

-- Accepted once. Never updated.
CREATE TABLE :schema.message (
    id              uuid        NOT NULL,
    tenant          text        NOT NULL DEFAULT '',
    contract        text        NOT NULL,
    version         integer     NOT NULL,
    payload         jsonb       NOT NULL,
    headers         jsonb       NOT NULL DEFAULT '{}',
    idempotency_key text,
    ordering_key    text,
    concurrency_key text,
    correlation_id  text,
    causation_id    text,
    deliver_by      timestamptz,
    accepted_at     timestamptz NOT NULL,
    CONSTRAINT message_pkey PRIMARY KEY (id),
    CONSTRAINT message_version_is_positive CHECK (version > 0),
    CONSTRAINT message_contract_has_a_name CHECK (contract <> ''),
    CONSTRAINT message_headers_are_an_object CHECK (jsonb_typeof(headers) = 'object')
);

-- NULLs would defeat it, so `tenant` has none.
CREATE UNIQUE INDEX message_idempotency
    ON :schema.message (tenant, contract, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Runnable now. Inserted and deleted, never updated. `seq` is fresh at every insert.
CREATE TABLE :schema.ready (
    seq             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
    handler_key     text        NOT NULL,
    priority        smallint    NOT NULL,
    version         integer     NOT NULL,
    message_id      uuid        NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    delayed_retries integer     NOT NULL DEFAULT 0,
    suspect         boolean     NOT NULL DEFAULT false,
    CONSTRAINT ready_pkey PRIMARY KEY (handler_key, priority, version, seq),
    CONSTRAINT ready_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT ready_priority_is_known CHECK (priority BETWEEN 0 AND 3)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0.5);

CREATE UNIQUE INDEX ready_delivery ON :schema.ready (message_id, handler_key);
CREATE INDEX ready_suspect ON :schema.ready (seq) WHERE suspect;

-- A batch that one worker holds: one row to claim, to renew and to fence. The arrays never change, and
-- where all are alike one element stands for them; a bit of `open` falls when its delivery is settled, a
-- bit of `cancel` rises when it should stop.
CREATE TABLE :schema.lease (
    token           uuid        NOT NULL,
    host            text        NOT NULL,
    handler_key     text        NOT NULL,
    suspect         boolean     NOT NULL,
    max_attempts    integer     NOT NULL,
    leased_at       timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    message_ids     uuid[]      NOT NULL,
    versions        integer[]   NOT NULL,
    priorities      smallint[]  NOT NULL,
    attempts        integer[]   NOT NULL,
    delayed_retries integer[]   NOT NULL,
    open            varbit      NOT NULL,
    cancel          varbit      NOT NULL,
    CONSTRAINT lease_pkey PRIMARY KEY (token),
    CONSTRAINT lease_holds_something CHECK (position(B'1' IN open) > 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

-- They are read soon and once: to compress them would cost more than it saves.
ALTER TABLE :schema.lease
    ALTER message_ids SET STORAGE EXTERNAL,
    ALTER versions SET STORAGE EXTERNAL,
    ALTER priorities SET STORAGE EXTERNAL,
    ALTER attempts SET STORAGE EXTERNAL,
    ALTER delayed_retries SET STORAGE EXTERNAL;

-- A host holds at most one suspect, whatever its calls do at once.
CREATE UNIQUE INDEX lease_suspect ON :schema.lease (host) WHERE suspect;

-- Not runnable yet: until `due_at`, or, without a handler key, until there is a route.
CREATE TABLE :schema.waiting (
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL DEFAULT '',
    contract        text        NOT NULL DEFAULT '',
    version         integer     NOT NULL,
    priority        smallint    NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    delayed_retries integer     NOT NULL DEFAULT 0,
    suspect         boolean     NOT NULL DEFAULT false,
    due_at          timestamptz NOT NULL,
    reason          text        NOT NULL,
    error           text,
    CONSTRAINT waiting_pkey PRIMARY KEY (message_id, handler_key),
    CONSTRAINT waiting_priority_is_known CHECK (priority BETWEEN 0 AND 3),
    CONSTRAINT waiting_reason_is_known CHECK (reason IN ('delay', 'retry', 'no-route')),
    CONSTRAINT waiting_without_handler_is_for_a_route
        CHECK ((handler_key = '') = (reason = 'no-route'))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX waiting_due ON :schema.waiting (due_at) WHERE handler_key <> '';
CREATE INDEX waiting_route ON :schema.waiting (contract, message_id) WHERE handler_key = '';

-- What went wrong.
CREATE TABLE :schema.attempt (
    id              bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL,
    attempt         integer     NOT NULL,
    leased_at       timestamptz NOT NULL,
    settled_at      timestamptz NOT NULL,
    error_type      text        NOT NULL,
    error           text        NOT NULL,
    CONSTRAINT attempt_pkey PRIMARY KEY (message_id, id)
);

-- Given up, until someone decides.
CREATE TABLE :schema.dead (
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL,
    version         integer     NOT NULL,
    priority        smallint    NOT NULL,
    attempts        integer     NOT NULL,
    reason          text        NOT NULL,
    error_type      text        NOT NULL,
    error           text        NOT NULL,
    dead_at         timestamptz NOT NULL,
    CONSTRAINT dead_pkey PRIMARY KEY (message_id, handler_key),
    CONSTRAINT dead_priority_is_known CHECK (priority BETWEEN 0 AND 3)
);

-- Settled for good. Append-only; partitioned, so that old history can be dropped at once.
CREATE TABLE :schema.done (
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL,
    outcome         text        NOT NULL,
    attempts        integer     NOT NULL,
    took            interval    NOT NULL,
    done_at         timestamptz NOT NULL,
    CONSTRAINT done_pkey PRIMARY KEY (message_id, handler_key, done_at),
    CONSTRAINT done_outcome_is_known
        CHECK (outcome IN ('completed', 'expired', 'cancelled', 'discarded'))
) PARTITION BY RANGE (done_at);

CREATE TABLE :schema.done_default PARTITION OF :schema.done DEFAULT;

-- Who handles what. A superseded key stays, so that nobody brings it back by registering.
CREATE TABLE :schema.route (
    contract        text        NOT NULL,
    handler_key     text        NOT NULL,
    superseded_by   text,
    registered_at   timestamptz NOT NULL,
    CONSTRAINT route_pkey PRIMARY KEY (contract, handler_key),
    CONSTRAINT route_has_a_handler CHECK (handler_key <> '')
);

CREATE INDEX route_key ON :schema.route (handler_key);

-- All deliveries in one place, for people.
CREATE VIEW :schema.delivery AS
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
           CASE WHEN handler_key <> '' THEN due_at END, NULL, NULL, reason, error
    FROM :schema.waiting
    UNION ALL
    SELECT message_id, handler_key, 'dead', attempts, NULL, NULL, dead_at, reason, error
    FROM :schema.dead
    UNION ALL
    SELECT message_id, handler_key, outcome, attempts, NULL, NULL, done_at, NULL, NULL
    FROM :schema.done
) AS place
LEFT JOIN :schema.message AS message ON message.id = place.message_id;
