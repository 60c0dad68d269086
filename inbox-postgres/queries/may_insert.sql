-- Whether this role may write messages by itself, or has to call the functions.
SELECT coalesce(bool_and(has_table_privilege(class.oid, need.privilege)), false)
FROM (VALUES ('message', 'INSERT'), ('message', 'SELECT'), ('ready', 'INSERT'), ('waiting', 'INSERT'),
             ('waiting', 'SELECT'), ('route', 'SELECT')) AS need (name, privilege)
JOIN pg_catalog.pg_namespace AS namespace ON namespace.nspname = $1::text
JOIN pg_catalog.pg_class AS class
    ON class.relnamespace = namespace.oid AND class.relname = need.name
