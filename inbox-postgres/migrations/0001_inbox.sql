-- The state of a delivery is the table it is in; a move is one statement.

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

COMMENT ON TABLE :schema.message IS 'Messages, each accepted once. Never updated.';
COMMENT ON COLUMN :schema.message.id IS 'A UUIDv7: messages accepted later sort later.';
COMMENT ON COLUMN :schema.message.tenant IS 'Whose message it is; empty where an application has no tenants.';
COMMENT ON COLUMN :schema.message.contract IS 'The name of its contract.';
COMMENT ON COLUMN :schema.message.version IS 'The version of the contract that the payload was written by.';
COMMENT ON COLUMN :schema.message.payload IS 'The command or event, as its codec wrote it.';
COMMENT ON COLUMN :schema.message.headers IS 'Strings that travel along, such as a trace context.';
COMMENT ON COLUMN :schema.message.idempotency_key IS 'One message for each tenant, contract and key; several where it is NULL.';
COMMENT ON COLUMN :schema.message.ordering_key IS 'Deliveries of one handler and tenant that share it run one at a time, in order.';
COMMENT ON COLUMN :schema.message.concurrency_key IS 'A handler may limit how many deliveries that share it run at once.';
COMMENT ON COLUMN :schema.message.correlation_id IS 'The conversation it belongs to.';
COMMENT ON COLUMN :schema.message.causation_id IS 'The message that caused it.';
COMMENT ON COLUMN :schema.message.deliver_by IS 'After this moment it is not delivered any more.';
COMMENT ON COLUMN :schema.message.accepted_at IS 'When the store took responsibility for it.';

-- The order of lanes. A delivery has its number from when it is accepted or, if it starts later, from when it is
-- first due; every move carries it along.
CREATE SEQUENCE :schema.position CACHE 1;

CREATE TABLE :schema.ready (
    seq             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
    handler_key     text        NOT NULL,
    priority        smallint    NOT NULL,
    version         integer     NOT NULL,
    message_id      uuid        NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    crashes         integer     NOT NULL DEFAULT 0,
    level           smallint    NOT NULL GENERATED ALWAYS AS (
        CASE WHEN crashes < 2 THEN priority WHEN crashes = 2 THEN 4 ELSE 5 END
    ) STORED,
    tenant          text        NOT NULL DEFAULT '',
    ordering_key    text,
    concurrency_key text,
    ordered         boolean     NOT NULL GENERATED ALWAYS AS (ordering_key IS NOT NULL) STORED,
    position        bigint      NOT NULL DEFAULT nextval(:position),
    carry           jsonb,
    -- What has an ordering key stands apart: claims of the rest never meet it.
    CONSTRAINT ready_pkey PRIMARY KEY (handler_key, ordered, level, version, seq),
    CONSTRAINT ready_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT ready_priority_is_known CHECK (priority BETWEEN 0 AND 3)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0.5);
CREATE UNIQUE INDEX ready_delivery ON :schema.ready (message_id, handler_key);
-- A worker for some tenants passes by what the others sent; where nobody has tenants, the index costs nothing.
-- With keys by bytes, it alone fits what such workers ask for.
CREATE INDEX ready_tenant ON :schema.ready (tenant, handler_key COLLATE "C", ordered, level, version, seq)
    WHERE tenant <> '';
-- By bytes, as only so is it alone in fitting the question for the oldest of a lane.
CREATE INDEX ready_lane
    ON :schema.ready (handler_key COLLATE "C", tenant COLLATE "C", ordering_key COLLATE "C", position)
    WHERE ordering_key IS NOT NULL;

COMMENT ON TABLE :schema.ready IS 'Deliveries that a worker may lease now. Inserted and deleted, never updated.';
COMMENT ON COLUMN :schema.ready.seq IS 'The order of scans; fresh at every insert.';
COMMENT ON COLUMN :schema.ready.handler_key IS 'The key of the handler that takes it.';
COMMENT ON COLUMN :schema.ready.priority IS '0 low, 1 normal, 2 high, 3 urgent.';
COMMENT ON COLUMN :schema.ready.version IS 'The version of its message.';
COMMENT ON COLUMN :schema.ready.message_id IS 'Its message.';
COMMENT ON COLUMN :schema.ready.attempts IS 'Attempts that were counted.';
COMMENT ON COLUMN :schema.ready.crashes IS 'Workers that vanished with it in a row.';
COMMENT ON COLUMN :schema.ready.level IS 'What a claim looks for: its priority; 4 where it is quarantined, leased apart from others; 5 where it is leased alone.';
COMMENT ON COLUMN :schema.ready.tenant IS 'The tenant of its message.';
COMMENT ON COLUMN :schema.ready.ordering_key IS 'The ordering key of its message.';
COMMENT ON COLUMN :schema.ready.concurrency_key IS 'The concurrency key of its message.';
COMMENT ON COLUMN :schema.ready.ordered IS 'Whether it has an ordering key.';
COMMENT ON COLUMN :schema.ready.position IS 'Its position in its lane, given once.';
COMMENT ON COLUMN :schema.ready.carry IS 'Counters that go along with every move. Only programs read them.';

CREATE TABLE :schema.lease (
    id              uuid        NOT NULL,
    host            text        NOT NULL,
    handler_key     text        NOT NULL,
    alone           boolean     NOT NULL,
    max_crashes     integer     NOT NULL,
    expires_at      timestamptz NOT NULL,
    reclaimed       boolean     NOT NULL DEFAULT false,
    permits         integer,
    CONSTRAINT lease_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE :schema.lease IS 'Claims of workers, a row each: what is renewed, and what expires. It goes when nothing is held under it any more.';
COMMENT ON COLUMN :schema.lease.id IS 'Made by the worker: the token that its later writes must name.';
COMMENT ON COLUMN :schema.lease.host IS 'The host that claimed.';
COMMENT ON COLUMN :schema.lease.handler_key IS 'The key of the handler that it claimed for.';
COMMENT ON COLUMN :schema.lease.alone IS 'Whether it is of one quarantined delivery, which is to blame if the worker vanishes.';
COMMENT ON COLUMN :schema.lease.max_crashes IS 'A delivery is dead once so many workers in a row have vanished with it.';
COMMENT ON COLUMN :schema.lease.expires_at IS 'From then on, whoever wants may reclaim what is held under it. Until someone has, it holds.';
COMMENT ON COLUMN :schema.lease.reclaimed IS 'Whether a part of it was reclaimed: it is not renewed any more, and the rest is reclaimed next.';
COMMENT ON COLUMN :schema.lease.permits IS 'So many of its deliveries without an ordering key run at once, and so many permits of the fleet''s limit they use; one each, where it is NULL.';

CREATE TABLE :schema.held (
    lease_id        uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    leased_at       timestamptz NOT NULL,
    version         integer     NOT NULL,
    attempt         integer     NOT NULL,
    crashes         integer     NOT NULL,
    priority        smallint    NOT NULL,
    cancel          boolean     NOT NULL DEFAULT false,
    limited         boolean     NOT NULL,
    blocks          boolean     NOT NULL,
    handler_key     text        NOT NULL,
    first_key       text        NOT NULL,
    tenant          text        NOT NULL,
    ordering_key    text,
    concurrency_key text,
    position        bigint      NOT NULL,
    carry           jsonb,
    CONSTRAINT held_pkey PRIMARY KEY (lease_id, message_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
-- From the oldest lease that there is, they have hardly an entry of what is over: also while a transaction that is
-- open keeps all entries. One by bytes, so that each fits one question only.
CREATE INDEX held_fleet ON :schema.held (first_key COLLATE "C", lease_id) WHERE limited;
CREATE INDEX held_key ON :schema.held (first_key, tenant, concurrency_key, lease_id)
    WHERE limited AND concurrency_key IS NOT NULL;
CREATE INDEX held_lane ON :schema.held (lease_id, tenant, ordering_key, position) WHERE ordering_key IS NOT NULL;

COMMENT ON TABLE :schema.held IS 'Deliveries in flight, a row each. To delete the row is to settle the delivery: whoever finds it gone has lost it.';
COMMENT ON COLUMN :schema.held.lease_id IS 'The lease that it is held under.';
COMMENT ON COLUMN :schema.held.message_id IS 'Its message.';
COMMENT ON COLUMN :schema.held.leased_at IS 'When it was leased.';
COMMENT ON COLUMN :schema.held.version IS 'The version of its message.';
COMMENT ON COLUMN :schema.held.attempt IS 'Which attempt this is, from 1.';
COMMENT ON COLUMN :schema.held.crashes IS 'Workers that vanished with it in a row, before this one.';
COMMENT ON COLUMN :schema.held.priority IS '0 low, 1 normal, 2 high, 3 urgent.';
COMMENT ON COLUMN :schema.held.cancel IS 'Whether someone wants it stopped: then there is no other attempt.';
COMMENT ON COLUMN :schema.held.limited IS 'Whether it counts for a limit of the whole fleet.';
COMMENT ON COLUMN :schema.held.blocks IS 'Whether its lane is blocked if it dies.';
COMMENT ON COLUMN :schema.held.handler_key IS 'The key of the handler that takes it.';
COMMENT ON COLUMN :schema.held.first_key IS 'The key that the handler had first: its lanes and limits go by it.';
COMMENT ON COLUMN :schema.held.tenant IS 'The tenant of its message.';
COMMENT ON COLUMN :schema.held.ordering_key IS 'The ordering key of its message.';
COMMENT ON COLUMN :schema.held.concurrency_key IS 'The concurrency key of its message.';
COMMENT ON COLUMN :schema.held.position IS 'Its position in its lane.';
COMMENT ON COLUMN :schema.held.carry IS 'Counters that go along with every move. Only programs read them.';

CREATE TABLE :schema.waiting (
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL DEFAULT '',
    contract        text        NOT NULL DEFAULT '',
    version         integer     NOT NULL,
    priority        smallint    NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    crashes         integer     NOT NULL DEFAULT 0,
    due_at          timestamptz NOT NULL,
    reason          text        NOT NULL,
    error           text,
    tenant          text        NOT NULL DEFAULT '',
    ordering_key    text,
    concurrency_key text,
    first_key       text,
    position        bigint      NOT NULL DEFAULT nextval(:position),
    carry           jsonb,
    CONSTRAINT waiting_pkey PRIMARY KEY (message_id, handler_key),
    CONSTRAINT waiting_priority_is_known CHECK (priority BETWEEN 0 AND 3),
    CONSTRAINT waiting_reason_is_known CHECK (reason IN ('delay', 'retry', 'no-route', 'lane', 'limit')),
    CONSTRAINT waiting_without_handler_is_for_a_route
        CHECK ((handler_key = '') = (reason = 'no-route')),
    CONSTRAINT waiting_behind_something CHECK (
        CASE reason
            WHEN 'lane' THEN num_nulls(first_key, ordering_key) = 0
            WHEN 'limit' THEN num_nulls(first_key, concurrency_key) = 0
            ELSE first_key IS NULL
        END
    )
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX waiting_due ON :schema.waiting (due_at) WHERE handler_key <> '' AND first_key IS NULL;
CREATE INDEX waiting_route ON :schema.waiting (contract, position) WHERE handler_key = '';
CREATE INDEX waiting_route_lane ON :schema.waiting (contract, tenant, ordering_key)
    WHERE handler_key = '' AND ordering_key IS NOT NULL;
CREATE INDEX waiting_lane ON :schema.waiting (first_key, tenant, ordering_key, position) WHERE reason = 'lane';
CREATE INDEX waiting_limit ON :schema.waiting (first_key, tenant, concurrency_key, position)
    WHERE reason = 'limit';

COMMENT ON TABLE :schema.waiting IS 'Deliveries that no worker may lease yet.';
COMMENT ON COLUMN :schema.waiting.message_id IS 'Its message.';
COMMENT ON COLUMN :schema.waiting.handler_key IS 'The key of the handler that takes it; empty while none is known.';
COMMENT ON COLUMN :schema.waiting.contract IS 'The name of its contract, where it waits for a handler.';
COMMENT ON COLUMN :schema.waiting.version IS 'The version of its message.';
COMMENT ON COLUMN :schema.waiting.priority IS '0 low, 1 normal, 2 high, 3 urgent.';
COMMENT ON COLUMN :schema.waiting.attempts IS 'Attempts that were counted.';
COMMENT ON COLUMN :schema.waiting.crashes IS 'Workers that vanished with it in a row.';
COMMENT ON COLUMN :schema.waiting.due_at IS 'When it will be ready, where it waits for a moment.';
COMMENT ON COLUMN :schema.waiting.reason IS 'delay, retry: until due_at. no-route: for a handler. lane: behind others of its ordering key. limit: until others of its concurrency key end.';
COMMENT ON COLUMN :schema.waiting.error IS 'What went wrong last, where it waits for a retry.';
COMMENT ON COLUMN :schema.waiting.tenant IS 'The tenant of its message.';
COMMENT ON COLUMN :schema.waiting.ordering_key IS 'The ordering key of its message.';
COMMENT ON COLUMN :schema.waiting.concurrency_key IS 'The concurrency key of its message.';
COMMENT ON COLUMN :schema.waiting.first_key IS 'Behind a lane or a limit: the key that its handler had first.';
COMMENT ON COLUMN :schema.waiting.position IS 'Its position in its lane; where it waits for its start, it is given another one then.';
COMMENT ON COLUMN :schema.waiting.carry IS 'Counters that go along with every move. Only programs read them.';

CREATE TABLE :schema.lane (
    handler_key  text        NOT NULL,
    tenant       text        NOT NULL,
    ordering_key text        NOT NULL,
    lease_id     uuid,
    message_id   uuid,
    head_key     text,
    mark         bigint      NOT NULL DEFAULT 0,
    later_mark   bigint,
    later_xid    xid8,
    since        timestamptz NOT NULL,
    CONSTRAINT lane_pkey PRIMARY KEY (handler_key, tenant, ordering_key),
    CONSTRAINT lane_head_is_a_delivery CHECK (num_nonnulls(message_id, head_key) <> 1)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lane_lease ON :schema.lane (lease_id) WHERE lease_id IS NOT NULL;

COMMENT ON TABLE :schema.lane IS 'Ordering keys in use. The primary key is what makes two runs at a time impossible. The holder is a lease while its worker runs the lane''s deliveries, else a delivery that nobody may pass: one that waits for its retry, is dead, or cannot be read by those who met it. Without a holder, the next claim that meets a delivery of the lane takes it.';
COMMENT ON COLUMN :schema.lane.handler_key IS 'The key that the handler had first.';
COMMENT ON COLUMN :schema.lane.tenant IS 'The tenant.';
COMMENT ON COLUMN :schema.lane.ordering_key IS 'The ordering key.';
COMMENT ON COLUMN :schema.lane.lease_id IS 'The lease that holds it.';
COMMENT ON COLUMN :schema.lane.message_id IS 'The message of the delivery that holds it, or will once the lease holds nothing of it.';
COMMENT ON COLUMN :schema.lane.head_key IS 'The key that this delivery is stored under.';
COMMENT ON COLUMN :schema.lane.mark IS 'Whoever looks for the next delivery begins here: none has a lower position, nor will have.';
COMMENT ON COLUMN :schema.lane.later_mark IS 'The mark that is right once all older transactions have ended: they may still commit a delivery before it.';
COMMENT ON COLUMN :schema.lane.later_xid IS 'Which those are: all with a lower number.';
COMMENT ON COLUMN :schema.lane.since IS 'Since when it has this holder.';

CREATE TABLE :schema.attempt (
    id              bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    message_id      uuid        NOT NULL,
    handler_key     text        NOT NULL,
    attempt         integer     NOT NULL,
    host            text,
    leased_at       timestamptz NOT NULL,
    settled_at      timestamptz NOT NULL,
    error_type      text        NOT NULL,
    error           text        NOT NULL,
    CONSTRAINT attempt_pkey PRIMARY KEY (message_id, id)
);

COMMENT ON TABLE :schema.attempt IS 'Attempts that did not succeed, those included whose worker vanished.';
COMMENT ON COLUMN :schema.attempt.id IS 'In the order in which they were recorded.';
COMMENT ON COLUMN :schema.attempt.message_id IS 'The message.';
COMMENT ON COLUMN :schema.attempt.handler_key IS 'The key that the delivery is stored under.';
COMMENT ON COLUMN :schema.attempt.attempt IS 'Which attempt, from 1. One whose worker vanished is not counted: its number comes again.';
COMMENT ON COLUMN :schema.attempt.host IS 'The host that made it.';
COMMENT ON COLUMN :schema.attempt.leased_at IS 'When the delivery was leased.';
COMMENT ON COLUMN :schema.attempt.settled_at IS 'When the attempt was settled, or its worker taken for vanished.';
COMMENT ON COLUMN :schema.attempt.error_type IS 'The type of the error, or a word for what else went wrong.';
COMMENT ON COLUMN :schema.attempt.error IS 'The error and its causes.';

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
    blocks          boolean     NOT NULL DEFAULT true,
    position        bigint      NOT NULL,
    CONSTRAINT dead_pkey PRIMARY KEY (message_id, handler_key),
    CONSTRAINT dead_priority_is_known CHECK (priority BETWEEN 0 AND 3)
);

COMMENT ON TABLE :schema.dead IS 'Deliveries that were given up. They stay until someone decides.';
COMMENT ON COLUMN :schema.dead.message_id IS 'Its message.';
COMMENT ON COLUMN :schema.dead.handler_key IS 'The key of the handler that takes it.';
COMMENT ON COLUMN :schema.dead.version IS 'The version of its message.';
COMMENT ON COLUMN :schema.dead.priority IS '0 low, 1 normal, 2 high, 3 urgent.';
COMMENT ON COLUMN :schema.dead.attempts IS 'Attempts that were counted.';
COMMENT ON COLUMN :schema.dead.reason IS 'Why there is no next attempt.';
COMMENT ON COLUMN :schema.dead.error_type IS 'The type of the last error.';
COMMENT ON COLUMN :schema.dead.error IS 'The last error and its causes.';
COMMENT ON COLUMN :schema.dead.dead_at IS 'When it was given up.';
COMMENT ON COLUMN :schema.dead.blocks IS 'Whether it blocks its lane, if it has one.';
COMMENT ON COLUMN :schema.dead.position IS 'Its position in its lane.';

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

COMMENT ON TABLE :schema.done IS 'Deliveries that are settled for good. Append-only; partitioned, so that old history can be dropped at once.';
COMMENT ON COLUMN :schema.done.message_id IS 'Its message.';
COMMENT ON COLUMN :schema.done.handler_key IS 'The key of the handler that took it.';
COMMENT ON COLUMN :schema.done.outcome IS 'completed, expired, cancelled or discarded.';
COMMENT ON COLUMN :schema.done.attempts IS 'Attempts that were counted.';
COMMENT ON COLUMN :schema.done.took IS 'From the last lease to the settlement.';
COMMENT ON COLUMN :schema.done.done_at IS 'When it was settled.';

CREATE TABLE :schema.route (
    contract        text        NOT NULL,
    handler_key     text        NOT NULL,
    superseded_by   text,
    registered_at   timestamptz NOT NULL,
    context         text        NOT NULL DEFAULT '',
    first_key       text        NOT NULL DEFAULT '',
    retired         boolean     NOT NULL DEFAULT false,
    blocks          boolean     NOT NULL DEFAULT true,
    CONSTRAINT route_pkey PRIMARY KEY (contract, handler_key),
    CONSTRAINT route_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT route_retired_takes_nothing_new CHECK (NOT retired OR superseded_by IS NOT NULL)
);
CREATE INDEX route_key ON :schema.route (handler_key);

COMMENT ON TABLE :schema.route IS 'Which handler keys take which contracts.';
COMMENT ON COLUMN :schema.route.contract IS 'The name of the contract.';
COMMENT ON COLUMN :schema.route.handler_key IS 'The key of the handler.';
COMMENT ON COLUMN :schema.route.superseded_by IS 'The key that takes what is new in its place; empty where an operator closed it. A superseded key stays, so that nobody brings it back by registering.';
COMMENT ON COLUMN :schema.route.registered_at IS 'When it was first registered.';
COMMENT ON COLUMN :schema.route.context IS 'The bounded context that the handler belongs to: one for the whole schema.';
COMMENT ON COLUMN :schema.route.first_key IS 'The key that the handler had first, by which its lanes and limits go, so that a rename neither breaks an order nor doubles a limit; empty while that is not known.';
COMMENT ON COLUMN :schema.route.retired IS 'Whether an operator closed it: then only an operator opens it.';
COMMENT ON COLUMN :schema.route.blocks IS 'Whether a delivery that dies as an orphan blocks its lane: what its handler said of dead ones.';

CREATE TABLE :schema.host (
    name            text        NOT NULL,
    started_at      timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    serves          jsonb       NOT NULL,
    CONSTRAINT host_pkey PRIMARY KEY (name),
    CONSTRAINT host_serves_keys CHECK (jsonb_typeof(serves) = 'object')
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

COMMENT ON TABLE :schema.host IS 'Hosts that are there: for people, and to know which keys nobody serves. What a host holds is its own by its leases.';
COMMENT ON COLUMN :schema.host.name IS 'New at every start.';
COMMENT ON COLUMN :schema.host.started_at IS 'When it was first seen.';
COMMENT ON COLUMN :schema.host.seen_at IS 'When it last said that it lives.';
COMMENT ON COLUMN :schema.host.serves IS 'The handler keys it serves, each with the versions that it reads.';

CREATE TABLE :schema.orphan (
    handler_key     text        NOT NULL,
    since           timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    CONSTRAINT orphan_pkey PRIMARY KEY (handler_key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

COMMENT ON TABLE :schema.orphan IS 'Keys under which something is ready that no live host serves.';
COMMENT ON COLUMN :schema.orphan.handler_key IS 'The key.';
COMMENT ON COLUMN :schema.orphan.since IS 'Since when, without the time in which nobody looked.';
COMMENT ON COLUMN :schema.orphan.seen_at IS 'When somebody last looked.';

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
    SELECT held.message_id, held.handler_key, 'processing', held.attempt, NULL, lease.expires_at, NULL, NULL,
           NULL
    FROM :schema.held AS held
    LEFT JOIN :schema.lease AS lease ON lease.id = held.lease_id
    UNION ALL
    SELECT message_id, handler_key, 'waiting', attempts,
           CASE WHEN handler_key <> '' AND first_key IS NULL THEN due_at END, NULL, NULL, reason, error
    FROM :schema.waiting
    UNION ALL
    SELECT message_id, handler_key, 'dead', attempts, NULL, NULL, dead_at, reason, error
    FROM :schema.dead
    UNION ALL
    SELECT message_id, handler_key, outcome, attempts, NULL, NULL, done_at, NULL, NULL
    FROM :schema.done
) AS place
LEFT JOIN :schema.message AS message ON message.id = place.message_id;

COMMENT ON VIEW :schema.delivery IS 'All deliveries, wherever they are, for people.';

-- The key that a handler had first: its lanes and limits go by it.
CREATE FUNCTION :schema.first_key(key text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = key LIMIT 1
    ), key)
$$;

-- The oldest deliveries of a lane that nobody holds, from a position on: they wait behind the lane or are ready,
-- under whichever keys of the handler. Claims ask for a run, and whoever hands a lane on for the next one.
CREATE FUNCTION :schema.lane_next(first text, of_tenant text, of_key text, mark bigint, most bigint)
RETURNS TABLE (
    place tid, waits boolean, message_id uuid, handler_key text, version integer, crashes integer,
    concurrency_key text, "position" bigint
)
LANGUAGE sql STABLE AS $$
    SELECT one.*
    FROM (
        (SELECT waiting.ctid, true AS waits, waiting.message_id, waiting.handler_key, waiting.version,
                waiting.crashes, waiting.concurrency_key, waiting.position
         FROM :schema.waiting AS waiting
         WHERE waiting.reason = 'lane' AND waiting.first_key = first AND waiting.tenant = of_tenant
           AND waiting.ordering_key = of_key AND waiting.position >= mark
         ORDER BY waiting.position
         LIMIT most)
        UNION ALL
        SELECT ready.*
        FROM (
            SELECT first AS key
            UNION
            SELECT route.handler_key FROM :schema.route AS route WHERE route.first_key = first
        ) AS alias
        CROSS JOIN LATERAL (
            SELECT ready.ctid, false, ready.message_id, ready.handler_key, ready.version, ready.crashes,
                   ready.concurrency_key, ready.position
            FROM :schema.ready AS ready
            WHERE ready.handler_key COLLATE "C" = alias.key AND ready.tenant COLLATE "C" = of_tenant
              AND ready.ordering_key COLLATE "C" = of_key AND ready.ordering_key IS NOT NULL
              AND ready.position >= mark
            ORDER BY ready.position
            LIMIT most
        ) AS ready
    ) AS one
    ORDER BY one.position
    LIMIT most
$$;

-- How many permits of its limit for the fleet a handler uses: a run uses one, and what a lease holds besides no more
-- than it was given.
CREATE FUNCTION :schema.permits_used(first text) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(CASE WHEN one.ordering_key IS NULL THEN least(one.count, (
               SELECT lease.permits FROM :schema.lease AS lease WHERE lease.id = one.lease_id LIMIT 1
           )) ELSE 1 END), 0)::bigint
    FROM (
        SELECT held.lease_id, held.ordering_key, count(*)
        FROM :schema.held AS held
        WHERE held.limited AND held.first_key COLLATE "C" = first
          AND held.lease_id >= (SELECT lease.id FROM :schema.lease AS lease ORDER BY lease.id LIMIT 1)
        GROUP BY held.lease_id, held.ordering_key, CASE WHEN held.ordering_key IS NOT NULL THEN held.tenant END
    ) AS one
$$;

-- The same of its limit for one concurrency key, of which each delivery without an ordering key uses one. A table, as
-- PostgreSQL makes that a part of the statement.
CREATE FUNCTION :schema.permits_used(first text, of_tenant text, of_key text) RETURNS TABLE (permits bigint)
LANGUAGE sql STABLE AS $$
    SELECT count(*)
    FROM (
        SELECT DISTINCT held.lease_id, held.ordering_key,
               CASE WHEN held.ordering_key IS NULL THEN held.message_id END
        FROM :schema.held AS held
        WHERE held.limited AND held.first_key = first AND held.tenant = of_tenant
          AND held.concurrency_key = of_key AND held.concurrency_key IS NOT NULL
          AND held.lease_id >= (SELECT lease.id FROM :schema.lease AS lease ORDER BY lease.id LIMIT 1)
    ) AS used
$$;

-- Raises an error, and so ends the transaction of a handler whose delivery is another worker's by now, or
-- that is not the transaction it was.
CREATE FUNCTION :schema.must_settle(settled bigint, asked bigint, mark text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('inbox.transaction', true) IS DISTINCT FROM mark THEN
        RAISE EXCEPTION 'the handler has ended its transaction' USING ERRCODE = 'IB001';
    ELSIF settled <> asked THEN
        RAISE EXCEPTION 'of % deliveries, % are held', asked, settled USING ERRCODE = 'IB002';
    END IF;
END
$$;

-- Everyone may call a new function unless that is taken away.
REVOKE EXECUTE ON FUNCTION :schema.first_key, :schema.lane_next, :schema.permits_used(text),
    :schema.permits_used(text, text, text), :schema.must_settle FROM PUBLIC;
