-- Who may do what in :schema. For a DBA, after every migration; as often as you like. The roles let nobody
-- in: grant them to the users of your programs, `GRANT :worker TO shop`.
BEGIN;
:create
-- A right that is not named below is taken away.
REVOKE ALL ON SCHEMA :schema FROM :writer, :bulk_writer, :worker, :operator;
REVOKE ALL ON ALL TABLES IN SCHEMA :schema FROM :writer, :bulk_writer, :worker, :operator;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA :schema FROM :writer, :bulk_writer, :worker, :operator;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA :schema FROM PUBLIC, :writer, :bulk_writer, :worker, :operator;

GRANT USAGE ON SCHEMA :schema TO :writer, :bulk_writer, :worker, :operator;
GRANT SELECT ON :schema.migration TO :writer, :bulk_writer, :worker, :operator;

-- A writer schedules: it calls functions, and sees no table.
GRANT EXECUTE ON FUNCTION :schema.schedule, :schema.accepted TO :writer, :bulk_writer, :worker;

-- A bulk writer also copies. To find what is new among what has a key, it reads ids.
GRANT INSERT, SELECT (id) ON :schema.message TO :bulk_writer;
GRANT INSERT ON :schema.ready TO :bulk_writer;
-- And the keys of what waits for a handler, to wait behind that.
GRANT INSERT, SELECT (handler_key, contract, tenant, ordering_key) ON :schema.waiting TO :bulk_writer;
GRANT SELECT ON :schema.route TO :bulk_writer;
GRANT USAGE ON SEQUENCE :schema.position TO :bulk_writer, :worker, :operator;
:temporary
-- A worker registers its handlers, leases and settles. To lock a row takes the right to update it.
GRANT SELECT ON :schema.message TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.ready TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.lease TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.held TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.waiting TO :worker;
GRANT SELECT, INSERT, UPDATE ON :schema.route TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.host TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.orphan TO :worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.lane TO :worker;
GRANT EXECUTE ON FUNCTION :schema.lane_next, :schema.permits_used(text),
    :schema.permits_used(text, text, text), :schema.must_settle TO :worker;
GRANT INSERT ON :schema.attempt TO :worker;
GRANT INSERT, SELECT (message_id, handler_key, blocks) ON :schema.dead TO :worker;
GRANT INSERT, SELECT (message_id, handler_key) ON :schema.done TO :worker;

-- An operator looks at everything, retries, cancels and reschedules, unblocks lanes, retires and restores routes.
GRANT SELECT ON :schema.delivery TO :operator;
GRANT SELECT ON :schema.message TO :operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.ready TO :operator;
GRANT SELECT, UPDATE ON :schema.held TO :operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON :schema.waiting TO :operator;
GRANT SELECT, UPDATE ON :schema.route TO :operator;
GRANT SELECT ON :schema.host TO :operator;
GRANT SELECT ON :schema.attempt TO :operator;
GRANT SELECT, UPDATE, DELETE ON :schema.dead TO :operator;
GRANT SELECT, UPDATE, DELETE ON :schema.lane TO :operator;
GRANT EXECUTE ON FUNCTION :schema.first_key, :schema.lane_next TO :operator;
GRANT SELECT, INSERT ON :schema.done TO :operator;
COMMIT;
