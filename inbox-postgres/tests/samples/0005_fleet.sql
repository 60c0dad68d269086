-- A key that was retired and one whose renaming was undone; a host, and a key that it does not serve.
INSERT INTO inbox.route (contract, handler_key, superseded_by, retired, registered_at)
VALUES ('other', 'retired', '', true, '2026-01-01'),
       ('other', 'renamed', 'other', true, '2026-01-01');

INSERT INTO inbox.host (name, started_at, seen_at, serves)
VALUES ('gone', '2026-01-01', '2026-01-02', '{"sample": [1, 2]}');

INSERT INTO inbox.orphan (handler_key, since, seen_at) VALUES ('other', '2026-01-01', '2026-01-02');
