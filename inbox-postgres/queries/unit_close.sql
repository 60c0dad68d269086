-- Before a handler's transaction settles: what was put off to the commit is done, so that nothing takes
-- long once the lease is locked; and a worker that vanishes with that lock does not keep it.
SET CONSTRAINTS ALL IMMEDIATE;
SET LOCAL idle_in_transaction_session_timeout = ':limit';
SELECT current_setting('inbox.transaction', true)
