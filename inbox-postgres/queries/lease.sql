-- ready → lease: one row for what has no key, and what it holds; one for what has. The most urgent first,
-- then the oldest; each priority from the mark where earlier claims found work. By version, so that what
-- nobody here reads costs nothing to pass by, however much there is of it. What stands in comments is the
-- place of what limits a worker to tenants, in tenants.rs, and a handler to slots, in limits.rs.
--
-- ready → waiting, behind its lane: what has an ordering key and is not its head. It is moved under a lock on
-- the lane, which whoever ends the head takes too, so nobody is left behind a lane that ends. What cannot be
-- decided now, because its lane is changing, is left where it is. So a row is taken, moved or left. At most $6
-- are taken, of $16 that are looked at. Each row of the answer names the claim; the last has nothing else to
-- say, so that an answer without deliveries names it too.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
),
first AS (
    SELECT coalesce((
        SELECT nullif(route.first_key, '') FROM :schema.route AS route WHERE route.handler_key = $4 LIMIT 1
    ), $4) AS key
),
urgent AS MATERIALIZED (
    SELECT ready.row, ready.seq, 3::smallint AS priority, ready.message_id, ready.tenant,
           ready.ordering_key, ready.concurrency_key
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq, message_id, ready.tenant, ordering_key, concurrency_key
        FROM :schema.ready AS ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 3 AND version = readable.version AND seq > $9
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $16
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $16
),
high AS MATERIALIZED (
    SELECT ready.row, ready.seq, 2::smallint AS priority, ready.message_id, ready.tenant,
           ready.ordering_key, ready.concurrency_key
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq, message_id, ready.tenant, ordering_key, concurrency_key
        FROM :schema.ready AS ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 2 AND version = readable.version AND seq > $10
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $16 - (SELECT count(*) FROM urgent)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $16 - (SELECT count(*) FROM urgent)
),
normal AS MATERIALIZED (
    SELECT ready.row, ready.seq, 1::smallint AS priority, ready.message_id, ready.tenant,
           ready.ordering_key, ready.concurrency_key
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq, message_id, ready.tenant, ordering_key, concurrency_key
        FROM :schema.ready AS ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 1 AND version = readable.version AND seq > $11
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $16 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $16 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high)
),
low AS MATERIALIZED (
    SELECT ready.row, ready.seq, 0::smallint AS priority, ready.message_id, ready.tenant,
           ready.ordering_key, ready.concurrency_key
    FROM unnest($5::integer[]) AS readable (version) /*served*/
    CROSS JOIN LATERAL (
        SELECT ctid AS row, seq, message_id, ready.tenant, ordering_key, concurrency_key
        FROM :schema.ready AS ready
        WHERE handler_key = $4 /*bytes*/ AND priority = 0 AND version = readable.version AND seq > $12
          AND NOT suspect /*theirs*/
        ORDER BY seq
        LIMIT $16 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high) - (SELECT count(*) FROM normal)
        FOR UPDATE SKIP LOCKED
    ) AS ready
    ORDER BY ready.seq
    LIMIT $16 - (SELECT count(*) FROM urgent) - (SELECT count(*) FROM high) - (SELECT count(*) FROM normal)
),
-- Not put together before it is needed: mostly nothing has a key.
found AS NOT MATERIALIZED (
    SELECT * FROM urgent
    UNION ALL SELECT * FROM high
    UNION ALL SELECT * FROM normal
    UNION ALL SELECT * FROM low
),
keyed AS MATERIALIZED (
    SELECT found.*, lane.message_id AS head, lane.message_id = found.message_id AND lane.head_key = $4 AS is_head
    FROM found
    LEFT JOIN LATERAL (
        SELECT lane.message_id, lane.head_key
        FROM :schema.lane AS lane
        WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = found.tenant
          AND lane.ordering_key = found.ordering_key
        LIMIT 1
    ) AS lane ON true
    WHERE found.ordering_key IS NOT NULL
),
-- A lane that nobody is in is for the oldest of its key, also among those that others have locked and those
-- under an earlier key of the handler. In the order of keys, so that no two claims wait for each other.
won AS (
    INSERT INTO :schema.lane (handler_key, tenant, ordering_key, message_id, head_key, since)
    SELECT first.key, oldest.tenant, oldest.ordering_key, oldest.message_id, $4, clock.now
    FROM clock, first, (
        SELECT DISTINCT ON (tenant, ordering_key) tenant, ordering_key, message_id, seq
        FROM keyed
        WHERE head IS NULL
        ORDER BY tenant, ordering_key, seq
    ) AS oldest
    -- Looked for in each lane, by the index: what asks whether there is none may be answered by a join.
    WHERE (
        SELECT earlier.seq
        FROM (
            SELECT $4 AS key
            UNION SELECT route.handler_key FROM :schema.route AS route WHERE route.first_key = first.key
            UNION SELECT first.key
        ) AS alias
        CROSS JOIN LATERAL (
            SELECT earlier.seq
            FROM :schema.ready AS earlier
            WHERE earlier.handler_key COLLATE "C" = alias.key AND earlier.tenant COLLATE "C" = oldest.tenant
              AND earlier.ordering_key COLLATE "C" = oldest.ordering_key AND earlier.seq < oldest.seq
            ORDER BY earlier.seq
            LIMIT 1
        ) AS earlier
        LIMIT 1
    ) IS NULL AND (
        SELECT behind.seq
        FROM :schema.waiting AS behind
        WHERE behind.reason = 'lane' AND behind.first_key = first.key AND behind.tenant = oldest.tenant
          AND behind.shared_key = oldest.ordering_key
        ORDER BY behind.seq
        LIMIT 1
    ) IS NULL
    ORDER BY oldest.tenant, oldest.ordering_key
    ON CONFLICT DO NOTHING
    RETURNING tenant, ordering_key, message_id
),
-- As the lane is now: it may have been handed to this one meanwhile.
behind AS MATERIALIZED (
    SELECT keyed.row, lane.message_id = keyed.message_id AND lane.head_key = $4 AS is_head
    FROM keyed
    CROSS JOIN LATERAL (
        SELECT lane.message_id, lane.head_key
        FROM :schema.lane AS lane
        WHERE lane.handler_key = (SELECT key FROM first) AND lane.tenant = keyed.tenant
          AND lane.ordering_key = keyed.ordering_key
        LIMIT 1
        FOR SHARE SKIP LOCKED
    ) AS lane
    WHERE keyed.head IS NOT NULL AND NOT keyed.is_head
),
fit AS MATERIALIZED (
    SELECT row
    FROM (
        SELECT row FROM found WHERE ordering_key IS NULL
        UNION ALL SELECT row FROM keyed WHERE is_head
        UNION ALL SELECT row FROM keyed WHERE head IS NULL AND message_id IN (SELECT message_id FROM won)
        UNION ALL SELECT row FROM behind WHERE is_head
    ) AS one
    LIMIT $6
),
/*slots*/
moved AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(
        SELECT row FROM behind WHERE NOT is_head
        UNION ALL
        SELECT keyed.row
        FROM keyed
        JOIN won USING (tenant, ordering_key)
        WHERE keyed.head IS NULL AND keyed.message_id <> won.message_id
        /*crowded*/
    ))
    RETURNING *
),
put_behind AS (
    INSERT INTO :schema.waiting (
        message_id, handler_key, version, priority, attempts, delayed_retries, due_at, reason, first_key,
        tenant, shared_key, seq
    )
    SELECT moved.message_id, moved.handler_key, moved.version, moved.priority, moved.attempts,
           moved.delayed_retries, clock.now, /*reason*/ 'lane', first.key, moved.tenant,
           /*shared*/ moved.ordering_key, moved.seq
    FROM clock, first, moved
),
-- By place in the table, which needs no plan that could go wrong.
taken AS (
    DELETE FROM :schema.ready
    WHERE ctid = ANY (ARRAY(SELECT row FROM /*granted*/ fit))
    RETURNING seq, priority, version, message_id, attempts + 1 AS attempt, delayed_retries,
              $13 OR ordering_key IS NOT NULL AS is_bound
),
-- Sorted once for all arrays.
batch AS MATERIALIZED (
    SELECT * FROM taken ORDER BY priority DESC, seq
),
held AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel, blocks
    )
    SELECT $2::uuid, $3::text, $4::text, false, $7::integer, clock.now, clock.now + $8::interval,
           arrays.message_ids, arrays.versions, arrays.priorities, arrays.attempts,
           arrays.delayed_retries, arrays.open, ~arrays.open, $15::boolean
    FROM clock, (
        -- Mostly all are alike: a fifth of the row is then enough.
        SELECT array_agg(message_id) AS message_ids,
               CASE WHEN min(version) = max(version) THEN ARRAY[min(version)]
                    ELSE array_agg(version) END AS versions,
               CASE WHEN min(priority) = max(priority) THEN ARRAY[min(priority)]
                    ELSE array_agg(priority) END AS priorities,
               CASE WHEN min(attempt) = max(attempt) THEN ARRAY[min(attempt)]
                    ELSE array_agg(attempt) END AS attempts,
               CASE WHEN min(delayed_retries) = max(delayed_retries)
                    THEN ARRAY[min(delayed_retries)]
                    ELSE array_agg(delayed_retries) END AS delayed_retries,
               repeat('1', count(*)::integer)::varbit AS open
        FROM batch
        WHERE NOT is_bound
    ) AS arrays
    WHERE arrays.message_ids IS NOT NULL
),
-- What holds a lane or a slot has leases of its own: one for all, or one for each.
bound AS MATERIALIZED (
    SELECT batch.*, ($14::uuid[])[1 + (row_number() OVER (ORDER BY priority DESC, seq) - 1)
                                   % cardinality($14)] AS token
    FROM batch
    WHERE is_bound
),
held_bound AS (
    INSERT INTO :schema.lease (
        token, host, handler_key, suspect, max_attempts, leased_at, expires_at, message_ids,
        versions, priorities, attempts, delayed_retries, open, cancel, blocks
    )
    SELECT arrays.token, $3, $4, false, $7, clock.now, clock.now + $8, arrays.message_ids,
           arrays.versions, arrays.priorities, arrays.attempts, arrays.delayed_retries, arrays.open,
           ~arrays.open, $15
    FROM clock, (
        SELECT token, array_agg(message_id ORDER BY priority DESC, seq) AS message_ids,
               array_agg(version ORDER BY priority DESC, seq) AS versions,
               array_agg(priority ORDER BY priority DESC, seq) AS priorities,
               array_agg(attempt ORDER BY priority DESC, seq) AS attempts,
               array_agg(delayed_retries ORDER BY priority DESC, seq) AS delayed_retries,
               repeat('1', count(*)::integer)::varbit AS open
        FROM bound
        GROUP BY token
    ) AS arrays
)
/*units*/
SELECT $2::uuid AS claim, clock.now, batch.seq, batch.priority, batch.attempt, batch.delayed_retries,
       batch.message_id, message.*, batch.token, 'taken' AS fate
FROM clock
CROSS JOIN (
    SELECT seq, priority, message_id, attempt, delayed_retries, $2 AS token FROM batch WHERE NOT is_bound
    UNION ALL
    SELECT seq, priority, message_id, attempt, delayed_retries, token FROM bound
) AS batch
LEFT JOIN LATERAL (
    SELECT tenant, contract, version, payload, headers, idempotency_key, ordering_key,
           concurrency_key, correlation_id, causation_id, deliver_by, accepted_at
    FROM :schema.message
    WHERE id = batch.message_id
    LIMIT 1
) AS message ON true
UNION ALL
SELECT $2, clock.now, found.seq, found.priority, 0, 0, found.message_id, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, $2,
       CASE WHEN found.message_id IN (SELECT message_id FROM moved) THEN 'moved' /*full*/ ELSE 'left' END
FROM clock, found
WHERE (found.ordering_key IS NOT NULL OR $6 < $16 /*limited*/)
  AND found.row NOT IN (SELECT row FROM /*granted*/ fit)
UNION ALL
SELECT $2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL
