-- Order and limits, for all workers of the file: what holds a lane, and what waits behind it.

-- The key that a handler had first. Lanes and limits go by it, so that a rename neither breaks an order nor
-- doubles a limit.
ALTER TABLE inbox_route ADD COLUMN first_key TEXT NOT NULL DEFAULT '';
WITH RECURSIVE earlier (contract, handler_key, first_key, depth) AS (
    SELECT contract, handler_key, handler_key, 0 FROM inbox_route
    UNION ALL
    SELECT earlier.contract, earlier.handler_key, old.handler_key, earlier.depth + 1
    FROM earlier
    JOIN inbox_route AS old
        ON old.contract = earlier.contract AND old.superseded_by = earlier.first_key
    -- Keys may have superseded each other in a circle.
    WHERE earlier.depth < 16
)
UPDATE inbox_route SET first_key = (
    SELECT earlier.first_key
    FROM earlier
    WHERE earlier.handler_key = inbox_route.handler_key
    ORDER BY earlier.depth DESC, earlier.first_key
    LIMIT 1
);

-- An ordering key in use: the delivery that is its head, and that alone, may be leased. It keeps the lane
-- while it is leased, waits for its retry or comes back from a worker that vanished; a dead one that is its
-- head blocks it. The primary key is what makes two in flight impossible.
CREATE TABLE inbox_lane (
    handler_key     TEXT    NOT NULL,
    tenant          TEXT    NOT NULL,
    ordering_key    TEXT    NOT NULL,
    message_id      BLOB    NOT NULL,
    head_key        TEXT    NOT NULL,
    since           INTEGER NOT NULL,
    PRIMARY KEY (handler_key, tenant, ordering_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_lane_head ON inbox_lane (message_id, head_key);

-- Whose deliveries are held, and whether what is behind a dead one waits: the worker that leased it said so.
-- `bound` says that others may wait for its end. Limits are counted here: there is one writer at a time.
ALTER TABLE inbox_lease ADD COLUMN first_key TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox_lease ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox_lease ADD COLUMN concurrency_key TEXT;
ALTER TABLE inbox_lease ADD COLUMN blocks INTEGER NOT NULL DEFAULT 1;
ALTER TABLE inbox_lease ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;
UPDATE inbox_lease SET first_key = coalesce(
    (SELECT route.first_key FROM inbox_route AS route WHERE route.handler_key = inbox_lease.handler_key),
    handler_key
);
UPDATE inbox_lease
SET tenant = message.tenant, concurrency_key = message.concurrency_key,
    bound = message.ordering_key IS NOT NULL OR message.concurrency_key IS NOT NULL
FROM inbox_message AS message
WHERE message.id = inbox_lease.message_id;
CREATE INDEX inbox_lease_held ON inbox_lease (first_key, tenant, concurrency_key);
INSERT INTO inbox_lane (handler_key, tenant, ordering_key, message_id, head_key, since)
SELECT lease.first_key, lease.tenant, message.ordering_key, lease.message_id, lease.handler_key,
       lease.leased_at
FROM inbox_lease AS lease
JOIN inbox_message AS message ON message.id = lease.message_id
WHERE message.ordering_key IS NOT NULL
ORDER BY lease.leased_at, lease.token
ON CONFLICT DO NOTHING;

-- Nothing, for messages without keys; `first_key` is that of the lane. What is behind another one of its lane
-- is in none of the indexes that workers look into, so a deep lane costs them nothing.
ALTER TABLE inbox_ready ADD COLUMN first_key TEXT;
ALTER TABLE inbox_ready ADD COLUMN ordering_key TEXT;
ALTER TABLE inbox_ready ADD COLUMN concurrency_key TEXT;
ALTER TABLE inbox_ready ADD COLUMN behind INTEGER NOT NULL DEFAULT 0
    CONSTRAINT ready_behind_is_a_flag CHECK (behind IN (0, 1));
UPDATE inbox_ready
SET ordering_key = message.ordering_key, concurrency_key = message.concurrency_key
FROM inbox_message AS message
WHERE message.id = inbox_ready.message_id
  AND (message.ordering_key IS NOT NULL OR message.concurrency_key IS NOT NULL);
UPDATE inbox_ready SET first_key = coalesce(
    (SELECT route.first_key FROM inbox_route AS route WHERE route.handler_key = inbox_ready.handler_key),
    handler_key
)
WHERE ordering_key IS NOT NULL;
CREATE INDEX inbox_ready_lane ON inbox_ready (first_key, tenant, ordering_key, behind, seq)
    WHERE ordering_key IS NOT NULL;
-- The oldest of each lane is in front, unless one of it is held.
UPDATE inbox_ready SET behind = 1
WHERE ordering_key IS NOT NULL AND seq NOT IN (
    SELECT min(ready.seq)
    FROM inbox_ready AS ready
    WHERE ready.ordering_key IS NOT NULL AND NOT EXISTS (
        SELECT 1
        FROM inbox_lane AS lane
        WHERE lane.handler_key = ready.first_key AND lane.tenant = ready.tenant
          AND lane.ordering_key = ready.ordering_key
    )
    GROUP BY ready.first_key, ready.tenant, ready.ordering_key
);

DROP INDEX inbox_ready_order;
CREATE INDEX inbox_ready_order ON inbox_ready (handler_key, suspect, priority DESC, seq, version)
    WHERE behind = 0;
DROP INDEX inbox_ready_suspect;
CREATE INDEX inbox_ready_suspect ON inbox_ready (seq) WHERE suspect = 1 AND behind = 0;
DROP INDEX inbox_ready_tenant;
CREATE INDEX inbox_ready_tenant
    ON inbox_ready (tenant, handler_key, suspect, priority DESC, seq, version)
    WHERE tenant <> '' AND behind = 0;
