SELECT handler_key, state, count(*) FROM :schema.delivery GROUP BY handler_key, state
