-- How lists are planned: anew for each question, so that only those tables are read that can hold an
-- answer to it. The history is large, and a generic plan would read it to find what is dead.
SET plan_cache_mode = force_custom_plan;
SET enable_bitmapscan = on;
SET enable_seqscan = on
