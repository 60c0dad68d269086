-- Whether the tables of an inbox are there and can be read.
SELECT count(*) FROM inbox_ready WHERE message_id = x'00'
