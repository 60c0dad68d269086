-- A store is for one bounded context: the one that its routes were registered for.
ALTER TABLE inbox_route ADD COLUMN context TEXT NOT NULL DEFAULT '';
