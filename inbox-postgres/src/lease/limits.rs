//! The claims of handlers that are limited in the whole fleet, made from those that are not. `$17` is the limit
//! of the handler and `$18` that of a concurrency key; either may be none.
//!
//! Such claims of one handler take turns, by a lock on its route: so each knows how many slots are taken. That
//! no two take the same one is up to the primary key.

/// A unit for each of those that fit: by key, then of the fleet. What has to wait for one of its key is moved
/// under a lock on one that is taken: whoever frees that will see it.
const SLOTS: &str = "wish AS MATERIALIZED (
    SELECT found.*, row_number() OVER (
        PARTITION BY found.tenant, found.concurrency_key ORDER BY found.priority DESC, found.seq
    ) AS nth
    FROM found
    WHERE found.row IN (SELECT row FROM fit)
),
free AS MATERIALIZED (
    SELECT key.tenant, key.concurrency_key, free.n, free.nth
    FROM (SELECT DISTINCT tenant, concurrency_key FROM wish WHERE concurrency_key IS NOT NULL) AS key
    CROSS JOIN LATERAL (
        SELECT count(*) AS units FROM :schema.slot AS slot
        WHERE slot.handler_key = (SELECT key FROM first) AND slot.tenant = key.tenant
          AND slot.concurrency_key = key.concurrency_key
    ) AS taken
    CROSS JOIN LATERAL (
        SELECT number.n, row_number() OVER (ORDER BY number.n) AS nth
        FROM generate_series(1, least($18::integer, taken.units + $6)::integer) AS number (n)
        WHERE NOT EXISTS (
            SELECT 1 FROM :schema.slot AS slot
            WHERE slot.handler_key = (SELECT key FROM first) AND slot.tenant = key.tenant
              AND slot.concurrency_key = key.concurrency_key AND slot.n = number.n
        )
        ORDER BY number.n
        LIMIT greatest($18 - taken.units, 0)
    ) AS free
),
by_key AS MATERIALIZED (
    SELECT wish.*, free.n AS key_unit, row_number() OVER (ORDER BY wish.priority DESC, wish.seq) AS place
    FROM wish
    LEFT JOIN free USING (tenant, concurrency_key, nth)
    WHERE $18 IS NULL OR wish.concurrency_key IS NULL OR free.n IS NOT NULL
),
in_use AS MATERIALIZED (
    SELECT count(*) AS units FROM :schema.slot AS slot
    WHERE slot.handler_key = (SELECT key FROM first) AND slot.tenant = '' AND slot.concurrency_key = ''
),
fleet AS MATERIALIZED (
    SELECT number.n, row_number() OVER (ORDER BY number.n) AS place
    FROM generate_series(1, least($17::integer, (SELECT units FROM in_use) + $6)::integer) AS number (n)
    WHERE NOT EXISTS (
        SELECT 1 FROM :schema.slot AS slot
        WHERE slot.handler_key = (SELECT key FROM first) AND slot.tenant = '' AND slot.concurrency_key = ''
          AND slot.n = number.n
    )
    ORDER BY number.n
    LIMIT greatest($17 - (SELECT units FROM in_use), 0)
),
granted AS MATERIALIZED (
    SELECT by_key.*, fleet.n AS fleet_unit
    FROM by_key
    LEFT JOIN fleet USING (place)
    WHERE $17 IS NULL OR fleet.n IS NOT NULL
),
taken_by_others AS MATERIALIZED (
    SELECT wish.row
    FROM wish
    JOIN :schema.slot AS slot
        ON slot.handler_key = (SELECT key FROM first) AND slot.tenant = wish.tenant
       AND slot.concurrency_key = wish.concurrency_key
    WHERE wish.row NOT IN (SELECT row FROM by_key)
    FOR SHARE OF slot SKIP LOCKED
),
crowded AS MATERIALIZED (
    SELECT row FROM taken_by_others
    UNION
    SELECT wish.row
    FROM wish
    JOIN granted USING (tenant, concurrency_key)
    WHERE wish.row NOT IN (SELECT row FROM by_key) AND granted.key_unit IS NOT NULL
),";

/// The units, under the tokens of those who have them.
const UNITS: &str = ", units AS (
    INSERT INTO :schema.slot (handler_key, tenant, concurrency_key, n, token, message_id, since)
    SELECT first.key, unit.tenant, unit.concurrency_key, unit.n, bound.token, bound.message_id, clock.now
    FROM clock, first, bound
    JOIN granted USING (message_id)
    CROSS JOIN LATERAL (
        VALUES (granted.tenant, granted.concurrency_key, granted.key_unit), ('', '', granted.fleet_unit)
    ) AS unit (tenant, concurrency_key, n)
    WHERE unit.n IS NOT NULL
)";

pub(crate) fn lease_limited(lease: &str) -> String {
    lease
        .replace("/*slots*/", SLOTS)
        .replace("/*crowded*/", "UNION ALL SELECT row FROM crowded")
        .replace(
            "/*reason*/ 'lane'",
            "CASE WHEN moved.message_id IN (SELECT wish.message_id FROM wish JOIN crowded USING (row))
                THEN 'slot' ELSE 'lane' END",
        )
        .replace(
            "/*shared*/ moved.ordering_key",
            "CASE WHEN moved.message_id IN (SELECT wish.message_id FROM wish JOIN crowded USING (row))
                THEN moved.concurrency_key ELSE moved.ordering_key END",
        )
        .replace("/*granted*/ fit", "granted")
        .replace("/*units*/", UNITS)
        // Those for which the fleet has no room need not be asked for until it has.
        .replace("/*full*/", "WHEN found.message_id IN (SELECT message_id FROM by_key) THEN 'full'")
        .replace("/*limited*/", "OR true")
}

/// The same for workers with some tenants, whose list comes last.
pub(crate) fn lease_limited_tenants(lease: &str) -> String {
    super::tenants::lease_tenants(&lease_limited(lease)).replace("$17::text[]", "$19::text[]")
}

/// The same for a list with the empty tenant.
pub(crate) fn lease_limited_tenants_and_none(lease: &str) -> String {
    super::tenants::lease_tenants_and_none(&lease_limited(lease)).replace("ANY ($17)", "ANY ($19)")
}
