-- Whether this role may write messages by itself, or has to call the functions.
SELECT coalesce(bool_and(CASE class.relkind
           WHEN 'S' THEN has_sequence_privilege(class.oid, need.privilege)
           ELSE has_table_privilege(class.oid, need.privilege)
       END), false)
FROM (VALUES ('message', 'INSERT'), ('message', 'SELECT'), ('ready', 'INSERT'), ('waiting', 'INSERT'),
             ('waiting', 'SELECT'), ('route', 'SELECT'), ('position', 'USAGE')) AS need (name, privilege)
JOIN pg_catalog.pg_namespace AS namespace ON namespace.nspname = $1::text
JOIN pg_catalog.pg_class AS class
    ON class.relnamespace = namespace.oid AND class.relname = need.name
