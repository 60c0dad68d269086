-- Tells everyone who listens. There is nothing in it that a crash could lose, so nobody waits for the disk:
-- until its commit, no other notification of the whole server gets its turn.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')
