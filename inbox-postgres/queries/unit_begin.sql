-- Begins a handler's transaction. The mark ends with it: so it shows whether the handler has ended it.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL inbox.transaction = ':mark'
