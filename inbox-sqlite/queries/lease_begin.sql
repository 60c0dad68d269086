-- nothing → lease.
INSERT INTO inbox_lease (
    token, host, handler_key, max_crashes, blocks, quarantined, alone, leased_at, expires_at
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
