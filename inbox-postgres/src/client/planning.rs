//! How statements are planned: settings of the server, and their values.

/// For the store's own statements. They are written for one plan that fits every case, by an index and in its
/// order; planning each anew takes longer than running it. Left to statistics, a claim that was planned while a
/// table was empty would go on reading all of it when it is full.
pub(crate) const OURS: [(&str, &str); 4] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_bitmapscan", "off"),
    ("enable_seqscan", "off"),
    ("jit", "off"),
];

/// For lists: anew for each question, so that only those tables are read that can hold an answer to it. The
/// history is large, and a generic plan would read it to find what is dead.
pub(crate) const LISTS: [(&str, &str); 3] = [
    ("plan_cache_mode", "force_custom_plan"),
    ("enable_bitmapscan", "on"),
    ("enable_seqscan", "on"),
];
