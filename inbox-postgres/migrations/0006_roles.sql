-- Roles: whoever may only schedule calls functions, which run with the rights of the schema's owner.

-- The messages that envelopes repeat: the same id, or else the same key. Nobody is shown one without
-- its tenant and its contract.
CREATE FUNCTION :schema.accepted(
    ids              uuid[],
    tenants          text[],
    contracts        text[],
    idempotency_keys text[]
)
RETURNS TABLE (
    place bigint, id uuid, tenant text, contract text, version integer, payload jsonb, headers jsonb,
    idempotency_key text, ordering_key text, concurrency_key text, correlation_id text,
    causation_id text, deliver_by timestamptz, accepted_at timestamptz
)
LANGUAGE sql STABLE AS $$
    SELECT given.place, message.*
    FROM unnest(ids, tenants, contracts, idempotency_keys)
        WITH ORDINALITY AS given (id, tenant, contract, idempotency_key, place)
    CROSS JOIN LATERAL (
        SELECT first.id, first.tenant, first.contract, first.version, first.payload, first.headers,
               first.idempotency_key, first.ordering_key, first.concurrency_key,
               first.correlation_id, first.causation_id, first.deliver_by, first.accepted_at
        FROM :schema.message AS first
        WHERE first.id = given.id AND first.tenant = given.tenant AND first.contract = given.contract
        UNION ALL
        SELECT first.id, first.tenant, first.contract, first.version, first.payload, first.headers,
               first.idempotency_key, first.ordering_key, first.concurrency_key,
               first.correlation_id, first.causation_id, first.deliver_by, first.accepted_at
        FROM :schema.message AS first
        WHERE first.tenant = given.tenant AND first.contract = given.contract
          AND first.idempotency_key = given.idempotency_key
        LIMIT 1
    ) AS message
$$;

-- What a caller has in its own schemas, or in its temporary one, is none of theirs.
ALTER FUNCTION :schema.schedule SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION :schema.accepted SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

-- Everyone may call a new function unless that is taken away. Whoever may write messages without them
-- goes on calling.
REVOKE EXECUTE ON FUNCTION :schema.schedule, :schema.accepted, :schema.new_message_id, :schema.check_name
    FROM PUBLIC;
DO $$
DECLARE
    writer record;
BEGIN
    FOR writer IN
        SELECT DISTINCT namespace.nspname AS schema, CASE granted.grantee
            WHEN 0 THEN 'PUBLIC'
            ELSE quote_ident(pg_get_userbyid(granted.grantee))
        END AS name
        FROM pg_catalog.pg_class AS class
        JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
        CROSS JOIN LATERAL pg_catalog.aclexplode(class.relacl) AS granted
        WHERE class.reltype = pg_typeof(NULL:::schema.message)::oid
          AND granted.privilege_type = 'INSERT'
    LOOP
        EXECUTE format(
            'GRANT EXECUTE ON FUNCTION %1$I.schedule, %1$I.accepted, %1$I.new_message_id, '
            '%1$I.check_name TO %2$s', writer.schema, writer.name);
    END LOOP;
END
$$;
