handler_key = (SELECT key FROM first) AND tenant = seen.tenant AND ordering_key = seen.ordering_key
