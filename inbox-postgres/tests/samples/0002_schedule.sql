-- One that the new function accepted.
SELECT inbox.schedule('sample', 1, '{"place": "function"}', idempotency_key => 'function');
