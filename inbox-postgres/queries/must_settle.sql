-- The transaction of a handler is the one that was begun, and settles nothing.
SELECT :schema.must_settle(0, 0, $1)
