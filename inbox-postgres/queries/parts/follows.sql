(accepted.ordering_key IS NULL OR (
        SELECT true
        FROM :schema.waiting AS before
        WHERE before.handler_key = '' AND before.contract = accepted.contract
          AND before.tenant = accepted.tenant AND before.ordering_key = accepted.ordering_key
        LIMIT 1
    ) IS NULL)
