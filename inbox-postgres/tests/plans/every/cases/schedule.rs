use super::{Case, messages};

/// Of a message with five routes, or of one that was accepted before.
pub(super) fn cases() -> Vec<Case> {
    let many = |key: &str| {
        format!(
            "NULL, ARRAY[gen_random_uuid()], '{{\"\"}}', '{{pay}}', '{{1}}', ARRAY['{{}}'::jsonb], ARRAY['{{}}'::jsonb],
             '{{{key}}}', '{{lane-7}}', '{{user-7}}', '{{NULL}}', '{{NULL}}', '{{NULL}}', '{{1}}', '{{NULL}}',
             '{{NULL}}'"
        )
    };
    let one = |key: &str, start: &str| {
        format!(
            "NULL, gen_random_uuid(), '', 'pay', 1, '{{}}', '{{}}', '{key}', 'lane-7', 'user-7', NULL, NULL,
             NULL, 1, NULL, {start}"
        )
    };
    let before = format!(
        "{}, '{{\"\",\"\",\"\"}}', '{{pay,pay,pay}}', '{{key-5,key-6,none}}'",
        messages([1, 400_000, 400_001])
    );
    vec![
        Case::new("accept", 6, many("new") + ", '{1}'"),
        Case::new("accept", 1, many("key-7") + ", '{1}'"),
        Case::new("accept_keyless", 6, many("NULL") + ", '{1}'"),
        Case::new("accept_called", 6, many("new")),
        Case::new("accept_called", 1, many("key-7")),
        Case::new("accept_one", 6, one("new", "NULL")),
        Case::new("accept_one", 6, one("later", "'1 hour'")),
        Case::new("accept_one", 1, one("key-7", "NULL")),
        Case::new("accepted_before", 3, before.clone()),
        Case::new("accepted_called", 3, before),
        Case::new("may_insert", 0, "'inbox'"),
        Case::new("backend", 0, "1"),
        Case::new("bulk_clock", 0, "NULL"),
        Case::new("bulk_accept", 600, "100"),
        Case::new("notify", 0, "'channel'"),
        Case::new("message", 1, messages([7]).replace(['{', '}'], "")),
    ]
}
