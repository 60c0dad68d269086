-- Who is there, and what becomes of what nobody serves.

-- An operator closed it: then only an operator opens it. What takes nothing new is superseded by
-- something, if only by the empty key.
ALTER TABLE :schema.route ADD retired boolean NOT NULL DEFAULT false;
ALTER TABLE :schema.route ADD CONSTRAINT route_retired_takes_nothing_new
    CHECK (NOT retired OR superseded_by IS NOT NULL);

-- For people, and to know what nobody serves: what a host holds is its own by its leases.
CREATE TABLE :schema.host (
    name            text        NOT NULL,
    started_at      timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    -- Handler keys, each with the versions that are read.
    serves          jsonb       NOT NULL,
    CONSTRAINT host_pkey PRIMARY KEY (name),
    CONSTRAINT host_serves_keys CHECK (jsonb_typeof(serves) = 'object')
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Keys under which something is ready that no live host serves: since when, without the time when
-- nobody looked.
CREATE TABLE :schema.orphan (
    handler_key     text        NOT NULL,
    since           timestamptz NOT NULL,
    seen_at         timestamptz NOT NULL,
    CONSTRAINT orphan_pkey PRIMARY KEY (handler_key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
