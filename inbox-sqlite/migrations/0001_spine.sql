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

-- Runnable now. `seq` is above those of all rows present, so it orders them.
CREATE TABLE inbox_ready (
    seq             INTEGER PRIMARY KEY,
    handler_key     TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    message_id      BLOB    NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    delayed_retries INTEGER NOT NULL DEFAULT 0,
    suspect         INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT ready_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT ready_has_a_handler CHECK (handler_key <> ''),
    CONSTRAINT ready_counts_from_zero CHECK (attempts >= 0 AND delayed_retries >= 0),
    CONSTRAINT ready_suspect_is_a_flag CHECK (suspect IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX inbox_ready_delivery ON inbox_ready (message_id, handler_key);
-- Ends with the version, so that rows this worker cannot read are passed over in the index.
CREATE INDEX inbox_ready_order ON inbox_ready (handler_key, suspect, priority DESC, seq, version);
CREATE INDEX inbox_ready_suspect ON inbox_ready (seq) WHERE suspect = 1;

-- Held by a worker. One row for each delivery: with a single writer, batches would save nothing.
CREATE TABLE inbox_lease (
    token           BLOB    NOT NULL PRIMARY KEY,
    host            TEXT    NOT NULL,
    handler_key     TEXT    NOT NULL,
    message_id      BLOB    NOT NULL,
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    delayed_retries INTEGER NOT NULL,
    suspect         INTEGER NOT NULL,
    max_attempts    INTEGER NOT NULL,
    leased_at       INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    cancel          INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT lease_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT lease_attempt_is_counted CHECK (attempt > 0)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX inbox_lease_delivery ON inbox_lease (message_id, handler_key);
CREATE INDEX inbox_lease_expiry ON inbox_lease (expires_at);
CREATE INDEX inbox_lease_suspect ON inbox_lease (host) WHERE suspect = 1;

-- Not runnable yet: until `due_at`, or, without a handler key, until its contract has a route.
CREATE TABLE inbox_waiting (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL DEFAULT '',
    contract        TEXT    NOT NULL DEFAULT '',
    version         INTEGER NOT NULL,
    priority        INTEGER NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    delayed_retries INTEGER NOT NULL DEFAULT 0,
    suspect         INTEGER NOT NULL DEFAULT 0,
    due_at          INTEGER NOT NULL,
    reason          TEXT    NOT NULL,
    error           TEXT,
    PRIMARY KEY (message_id, handler_key),
    CONSTRAINT waiting_has_a_message CHECK (length(message_id) = 16),
    CONSTRAINT waiting_counts_from_zero CHECK (attempts >= 0 AND delayed_retries >= 0),
    CONSTRAINT waiting_reason_is_known CHECK (reason IN ('delay', 'retry', 'no-route')),
    CONSTRAINT waiting_without_handler_is_for_a_route
        CHECK ((handler_key = '') = (reason = 'no-route'))
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_waiting_due ON inbox_waiting (due_at) WHERE handler_key <> '';
CREATE INDEX inbox_waiting_route ON inbox_waiting (contract, message_id) WHERE handler_key = '';

-- What went wrong.
CREATE TABLE inbox_attempt (
    message_id      BLOB    NOT NULL,
    handler_key     TEXT    NOT NULL,
    attempt         INTEGER NOT NULL,
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
    PRIMARY KEY (message_id, handler_key)
) STRICT, WITHOUT ROWID;

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

-- Who handles what. A superseded key stays, so that nobody brings it back by registering.
CREATE TABLE inbox_route (
    contract        TEXT    NOT NULL,
    handler_key     TEXT    NOT NULL,
    superseded_by   TEXT,
    registered_at   INTEGER NOT NULL,
    PRIMARY KEY (contract, handler_key),
    CONSTRAINT route_has_a_handler CHECK (handler_key <> '')
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_route_key ON inbox_route (handler_key);

-- All deliveries in one place, for people.
CREATE VIEW inbox_delivery AS
SELECT place.message_id, place.handler_key, message.contract, place.state, place.attempts,
       place.due_at, place.lease_expires_at, place.settled_at, place.reason, place.error
FROM (
    SELECT message_id, handler_key, 'pending' AS state, attempts, NULL AS due_at,
           NULL AS lease_expires_at, NULL AS settled_at, NULL AS reason, NULL AS error
    FROM inbox_ready
    UNION ALL
    SELECT message_id, handler_key, 'processing', attempt, NULL, expires_at, NULL, NULL, NULL
    FROM inbox_lease
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
