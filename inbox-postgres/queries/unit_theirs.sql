-- A handler's own statements are planned as the database has it, not as those of the store are.
SET LOCAL plan_cache_mode TO DEFAULT;
SET LOCAL enable_bitmapscan TO DEFAULT;
SET LOCAL enable_seqscan TO DEFAULT;
SET LOCAL jit TO DEFAULT;
-- And it may think for as long as it likes.
SET LOCAL idle_in_transaction_session_timeout TO DEFAULT
