-- The state of a delivery is the table it is in. Tables carry a prefix because the file may be the
-- application's own.

-- Accepted once. Never updated.
CREATE TABLE inbox_message (
    id              BLOB    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL DEFAULT '',
    contract        TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    payload         ANY     NOT NULL,
    headers         TEXT    NOT NULL DEFAULT '{}',
    idempotency_key TEXT,
    ordering_key    TEXT,
    concurrency_key TEXT,
    correlation_id  TEXT,
    causation_id    TEXT,
    deliver_by      INTEGER,
    accepted_at     INTEGER NOT NULL,
    CONSTRAINT message_id_is_a_uuid CHECK (length(id) = 16),
    CONSTRAINT message_version_is_positive CHECK (version > 0)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inbox_message_idempotency
    ON inbox_message (tenant, contract, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The last position that was given to a delivery in its lane.
CREATE TABLE inbox_position (
    last            INTEGER NOT NULL
) STRICT;

INSERT INTO inbox_position (last) VALUES (0);

-- Runnable now. `seq` is above those of all rows present, so it orders them for workers. Of a message with an
-- ordering key, `position` is the delivery's own in its lane: given once, when it is accepted or else first due,
-- and carried by every move. `first_key` is the key by which its handler's lanes go. A delivery that is behind
-- another one of its lane is in none of the indexes that workers look into, so a deep lane costs them nothing.
CREATE TABLE inbox_ready (
    seq             INTEGER PRIMARY KEY,
    handler_key     TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    message_id      BLOB    NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- Workers that vanished with it, in a row.
    crashes         INTEGER NOT NULL DEFAULT 0,
    -- Counters that go along through every move, as JSON.
    carry           TEXT,
    tenant          TEXT    NOT NULL DEFAULT '',
    first_key       TEXT    NOT NULL DEFAULT '',
    ordering_key    TEXT,
    concurrency_key TEXT,
    position        INTEGER,
    behind          INTEGER NOT NULL DEFAULT 0,
    ordered         INTEGER NOT NULL AS (ordering_key IS NOT NULL),
    quarantined     INTEGER NOT NULL AS (crashes >= 2),
    CONSTRAINT ready_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT ready_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT ready_counts_from_zero CHECK (attempts >= 0 AND crashes >= 0),
    CONSTRAINT ready_behind_is_a_flag CHECK (behind IN (0, 1)),
    CONSTRAINT ready_has_a_position_in_its_lane CHECK ((ordering_key IS NULL) = (position IS NULL))
) STRICT;

CREATE UNIQUE INDEX inbox_ready_delivery ON inbox_ready (message_id, handler_key);
-- Ends with the version, so that rows this worker cannot read are passed over in the index.
CREATE INDEX inbox_ready_order ON inbox_ready (handler_key, quarantined, ordered, priority DESC, seq, version)
    WHERE behind = 0;
-- A worker for some tenants passes by what the others sent; where nobody has tenants, it costs nothing.
CREATE INDEX inbox_ready_tenant
    ON inbox_ready (tenant, handler_key, quarantined, ordered, priority DESC, seq, version)
    WHERE tenant <> '' AND behind = 0;
CREATE INDEX inbox_ready_quarantine ON inbox_ready (seq) WHERE quarantined = 1 AND behind = 0;
CREATE INDEX inbox_ready_lane ON inbox_ready (first_key, tenant, ordering_key, position, handler_key)
    WHERE ordering_key IS NOT NULL;
-- Of a lane, one is in front.
CREATE UNIQUE INDEX inbox_ready_front ON inbox_ready (first_key, tenant, ordering_key)
    WHERE behind = 0 AND ordering_key IS NOT NULL;

-- One claim of one worker. It holds until it is reclaimed, and goes when nothing is held under it.
CREATE TABLE inbox_lease (
    token           BLOB    NOT NULL PRIMARY KEY,
    host            TEXT    NOT NULL,
    handler_key     TEXT    NOT NULL,
    max_crashes     INTEGER NOT NULL,
    -- Whether what is behind a dead delivery in its lane waits: the worker said so.
    blocks          INTEGER NOT NULL,
    quarantined     INTEGER NOT NULL,
    -- Whether it was claimed with one delivery and no other.
    alone           INTEGER NOT NULL,
    leased_at       INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    -- Whether a part of it was reclaimed: it is not renewed any more.
    reclaimed       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_lease_expiry ON inbox_lease (expires_at);

-- One delivery in flight. Deleting its row is the settlement, so it is the fence too. Limits are counted
-- here, where a run of a lane counts as one: there is one writer at a time.
CREATE TABLE inbox_held (
    token           BLOB    NOT NULL,
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL,
    first_key       TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    crashes         INTEGER NOT NULL,
    carry           TEXT,
    tenant          TEXT    NOT NULL,
    ordering_key    TEXT,
    concurrency_key TEXT,
    position        INTEGER,
    cancel          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (token, message_id),
    CONSTRAINT held_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT held_attempt_is_counted CHECK (attempt > 0)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inbox_held_delivery ON inbox_held (message_id, handler_key);
CREATE INDEX inbox_held_lane ON inbox_held (first_key, tenant, ordering_key, position)
    WHERE ordering_key IS NOT NULL;
CREATE INDEX inbox_held_limit ON inbox_held (first_key, tenant, concurrency_key);

-- Not runnable yet: until `due_at`, or, without a handler key, until its contract has a route.
CREATE TABLE inbox_waiting (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL DEFAULT '',
    contract        TEXT    NOT NULL DEFAULT '',
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    crashes         INTEGER NOT NULL DEFAULT 0,
    carry           TEXT,
    due_at          INTEGER NOT NULL,
    reason          TEXT    NOT NULL,
    error           TEXT,
    tenant          TEXT    NOT NULL DEFAULT '',
    first_key       TEXT    NOT NULL DEFAULT '',
    ordering_key    TEXT,
    concurrency_key TEXT,
    -- What waits for a retry keeps its own in its lane. What waits for a route has one whether it has a lane or not:
    -- it is routed in that order. What is delayed is given one when it is due.
    position        INTEGER,
    PRIMARY KEY (message_id, handler_key),
    CONSTRAINT waiting_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT waiting_counts_from_zero CHECK (attempts >= 0 AND crashes >= 0),
    CONSTRAINT waiting_reason_is_known CHECK (reason IN ('delay', 'retry', 'no-route')),
    CONSTRAINT waiting_without_handler_is_for_a_route
        CHECK ((handler_key = '') = (reason = 'no-route')),
    CONSTRAINT waiting_for_its_start_has_no_position CHECK (reason <> 'delay' OR position IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_waiting_due ON inbox_waiting (due_at) WHERE handler_key <> '';
CREATE INDEX inbox_waiting_lane ON inbox_waiting (first_key, tenant, ordering_key, position)
    WHERE handler_key <> '' AND ordering_key IS NOT NULL AND position IS NOT NULL;
CREATE INDEX inbox_waiting_route ON inbox_waiting (contract, position) WHERE handler_key = '';
CREATE INDEX inbox_waiting_route_lane ON inbox_waiting (contract, tenant, ordering_key)
    WHERE handler_key = '' AND ordering_key IS NOT NULL;

-- An ordering key in use, and the delivery whose turn it is: the oldest that is held, or else the oldest of those
-- that are ready, wait for a retry, or are dead and block. While one is held, or where the oldest is not ready, nobody
-- else has a turn. Which delivery that is follows from the tables; here is since when.
CREATE TABLE inbox_lane (
    first_key       TEXT    NOT NULL,
    tenant          TEXT    NOT NULL,
    ordering_key    TEXT    NOT NULL,
    message_id      BLOB    NOT NULL,
    head_key        TEXT    NOT NULL,
    since           INTEGER NOT NULL,
    PRIMARY KEY (first_key, tenant, ordering_key)
) STRICT, WITHOUT ROWID;

-- What went wrong, also with attempts whose worker vanished.
CREATE TABLE inbox_attempt (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL,
    attempt         INTEGER NOT NULL,
    host            TEXT,
    leased_at       INTEGER NOT NULL,
    settled_at      INTEGER NOT NULL,
    error_type      TEXT    NOT NULL,
    error           TEXT    NOT NULL
) STRICT;

CREATE INDEX inbox_attempt_message ON inbox_attempt (message_id);

-- Given up, until someone decides.
CREATE TABLE inbox_dead (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    reason          TEXT    NOT NULL,
    error_type      TEXT    NOT NULL,
    error           TEXT    NOT NULL,
    dead_at         INTEGER NOT NULL,
    tenant          TEXT    NOT NULL DEFAULT '',
    first_key       TEXT    NOT NULL DEFAULT '',
    ordering_key    TEXT,
    concurrency_key TEXT,
    -- That in its lane, while it blocks it.
    position        INTEGER,
    PRIMARY KEY (message_id, handler_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_dead_lane ON inbox_dead (first_key, tenant, ordering_key, position)
    WHERE position IS NOT NULL;

-- Settled for good.
CREATE TABLE inbox_done (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
    attempts        INTEGER NOT NULL,
    took            INTEGER NOT NULL,
    done_at         INTEGER NOT NULL,
    PRIMARY KEY (message_id, handler_key),
    CONSTRAINT done_outcome_is_known
        CHECK (outcome IN ('completed', 'expired', 'cancelled', 'discarded'))
) STRICT, WITHOUT ROWID;

-- Who handles what. A superseded key stays, so that nobody brings it back by registering. A key that takes
-- nothing new is superseded by another one, if only by the empty key.
CREATE TABLE inbox_route (
    contract        TEXT    NOT NULL,
    handler_key     TEXT    NOT NULL,
    superseded_by   TEXT,
    registered_at   INTEGER NOT NULL,
    -- The bounded context of the routes: a store is for one.
    context         TEXT    NOT NULL DEFAULT '',
    -- The key that the handler had first. Lanes and limits go by it, so that a rename neither breaks an order
    -- nor doubles a limit.
    first_key       TEXT    NOT NULL DEFAULT '',
    -- An operator closed it: then only an operator opens it.
    retired         INTEGER NOT NULL DEFAULT 0,
    -- Whether what is behind a dead delivery in its lane waits: for those that no worker gives up.
    blocks          INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (contract, handler_key),
    CONSTRAINT route_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT route_retired_takes_nothing_new
        CHECK (retired = 0 OR (retired = 1 AND superseded_by IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_route_key ON inbox_route (handler_key);

-- Who is there. For people, and to know what nobody serves: what a host holds is its own by its leases.
CREATE TABLE inbox_host (
    name            TEXT    NOT NULL PRIMARY KEY,
    started_at      INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL,
    -- Handler keys, each with the versions that are read.
    serves          TEXT    NOT NULL,
    CONSTRAINT host_serves_keys CHECK (json_type(serves) = 'object')
) STRICT, WITHOUT ROWID;

-- Keys under which something is ready that no live host serves: since when, without the time when
-- nobody looked.
CREATE TABLE inbox_orphan (
    handler_key     TEXT    NOT NULL PRIMARY KEY,
    since           INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- All deliveries in one place, for people.
CREATE VIEW inbox_delivery AS
SELECT place.message_id, place.handler_key, message.contract, place.state, place.attempts,
       place.due_at, place.lease_expires_at, place.settled_at, place.reason, place.error
FROM (
    SELECT message_id, handler_key, 'pending' AS state, attempts, NULL AS due_at,
           NULL AS lease_expires_at, NULL AS settled_at, NULL AS reason, NULL AS error
    FROM inbox_ready
    UNION ALL
    SELECT held.message_id, held.handler_key, 'processing', held.attempt, NULL, lease.expires_at, NULL,
           NULL, NULL
    FROM inbox_held AS held
    LEFT JOIN inbox_lease AS lease ON lease.token = held.token
    UNION ALL
    SELECT message_id, handler_key, 'waiting', attempts,
           CASE WHEN handler_key <> '' THEN due_at END, NULL, NULL, reason, error
    FROM inbox_waiting
    UNION ALL
    SELECT message_id, handler_key, 'dead', attempts, NULL, NULL, dead_at, reason, error
    FROM inbox_dead
    UNION ALL
    SELECT message_id, handler_key, outcome, attempts, NULL, NULL, done_at, NULL, NULL
    FROM inbox_done
) AS place
LEFT JOIN inbox_message AS message ON message.id = place.message_id;
