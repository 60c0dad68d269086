-- Before a handler's transaction settles: what was put off to the commit is done, so that nothing takes
-- long once the lease is locked; and a worker that vanishes with that lock does not keep it. The handler's
-- own limits are not meant for what follows.
SET CONSTRAINTS ALL IMMEDIATE;
SET LOCAL idle_in_transaction_session_timeout = ':limit';
SET LOCAL statement_timeout = ':limit';
SET LOCAL lock_timeout = 0;
SELECT current_setting('inbox.transaction', true)
