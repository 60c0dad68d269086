-- How a connection plans. The statements are written for one plan that fits every case, by an index and
-- in its order; planning each anew takes longer than running it. Left to statistics, a claim that was
-- planned while a table was empty would go on reading all of it when it is full.
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET jit = off;
-- A worker that stalls between two statements of a transaction must not keep its locks.
SET idle_in_transaction_session_timeout = '1min';
-- What the statements rely on, whatever the database's default is: each sees what is committed when it
-- begins.
SET default_transaction_isolation = 'read committed'
