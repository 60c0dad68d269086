-- A store is for one bounded context: the one that its routes were registered for.
ALTER TABLE inbox_route ADD COLUMN context TEXT NOT NULL DEFAULT '';

-- Whose message it is. A worker for some tenants then passes by what the others sent; where nobody has
-- tenants, the index costs nothing.
ALTER TABLE inbox_ready ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
UPDATE inbox_ready SET tenant = message.tenant
FROM inbox_message AS message
WHERE message.id = inbox_ready.message_id AND message.tenant <> '';
CREATE INDEX inbox_ready_tenant
    ON inbox_ready (tenant, handler_key, suspect, priority DESC, seq, version)
    WHERE tenant <> '';
