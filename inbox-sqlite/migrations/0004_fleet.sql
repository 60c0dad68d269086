-- An operator closed it: then only an operator opens it. What takes nothing new is superseded by
-- something, if only by the empty key.
ALTER TABLE inbox_route ADD COLUMN retired INTEGER NOT NULL DEFAULT 0
    CONSTRAINT route_retired_takes_nothing_new
    CHECK (retired = 0 OR (retired = 1 AND superseded_by IS NOT NULL));

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
