SELECT handler_key, state, count(*) FROM inbox_delivery GROUP BY handler_key, state
