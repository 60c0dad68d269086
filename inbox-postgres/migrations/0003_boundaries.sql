-- A schema is for one bounded context: the one that its routes were registered for.
ALTER TABLE :schema.route ADD context text NOT NULL DEFAULT '';
