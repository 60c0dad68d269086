-- One that the function accepted with the rights of its owner, and that it finds again.
SELECT inbox.schedule('sample', 1, '{"place": "definer"}', idempotency_key => 'definer');
SELECT * FROM inbox.accepted(ARRAY[gen_random_uuid()], ARRAY[''], ARRAY['sample'], ARRAY['definer']);
