//! Every word the attributes know, each with a line a user could write.

/// An argument of one of the attributes.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
}

const fn word(name: &'static str, example: &'static str) -> Word {
    Word { name, example }
}

// #[inbox_contract] and contract!
pub(crate) const NAME: Word = word("name", r#"name = "payments.process-payment""#);
pub(crate) const VERSION: Word = word("version", "version = 1");
pub(crate) const IDEMPOTENCY_KEY: Word =
    word("idempotency_key", r#"idempotency_key = "payment:{payment_id}""#);
pub(crate) const ORDERING_KEY: Word =
    word("ordering_key", r#"ordering_key = "account:{account_id}""#);
pub(crate) const CONCURRENCY_KEY: Word =
    word("concurrency_key", r#"concurrency_key = "merchant:{merchant_id}""#);
pub(crate) const UPGRADES: Word = word("upgrades", "upgrades = ProcessPaymentV1");

// #[handler]
pub(crate) const KEY: Word = word("key", r#"key = "charge-card""#);
pub(crate) const LEGACY: Word = word("legacy", r#"legacy = ["charge"]"#);
pub(crate) const TIMEOUT: Word = word("timeout", r#"timeout = "30s""#);
pub(crate) const MAX_ATTEMPTS: Word = word("max_attempts", "max_attempts = 10");
pub(crate) const MAX_CRASHES: Word = word("max_crashes", "max_crashes = 3");
pub(crate) const RETRY: Word = word("retry", r#"retry(initial = "5s", max = "5m")"#);
pub(crate) const CONCURRENCY: Word = word("concurrency", "concurrency = 8");
pub(crate) const RATE: Word = word("rate", r#"rate = "100/s""#);
pub(crate) const BATCH: Word = word("batch", "batch = 100");
pub(crate) const LINGER: Word = word("linger", r#"linger = "50ms""#);
pub(crate) const ON_DEAD: Word = word("on_dead", "on_dead = skip");
pub(crate) const CONTEXT: Word = word("context", r#"context = "billing""#);

// inside retry(..)
pub(crate) const IMMEDIATE: Word = word("immediate", "immediate = 3");
pub(crate) const IMMEDIATE_DELAY: Word = word("immediate_delay", r#"immediate_delay = "200ms""#);
pub(crate) const BACKOFF: Word = word("backoff", "backoff = exponential");
pub(crate) const INITIAL: Word = word("initial", r#"initial = "5s""#);
pub(crate) const MAX: Word = word("max", r#"max = "5m""#);
pub(crate) const JITTER: Word = word("jitter", "jitter = equal");
pub(crate) const DELAYS: Word = word("delays", r#"delays = ["10s", "1m", "10m"]"#);

// inside concurrency(..)
pub(crate) const PROCESS: Word = word("process", "process = 8");
pub(crate) const FLEET: Word = word("fleet", "fleet = 100");
pub(crate) const PER_KEY: Word = word("per_key", "per_key = 1");

// everywhere
pub(crate) const CRATE: Word = word("crate", "crate = my_crate::inbox");

/// What `#[handlers]` leaves in a `#[handler]` it has read. The attribute itself stays, so that
/// the compiler resolves it, counts its import as used, and tells where it could be imported from.
pub(crate) const REGISTERED: &str = "__registered";

/// A list of arguments: what it is called in messages, and what it takes.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary {
    pub(crate) title: &'static str,
    pub(crate) words: &'static [Word],
    /// What users of other systems would write.
    pub(crate) aliases: &'static [(&'static str, Word)],
}

const CONTRACT_WORDS: &[Word] =
    &[NAME, VERSION, IDEMPOTENCY_KEY, ORDERING_KEY, CONCURRENCY_KEY, UPGRADES, CRATE];

const CONTRACT_ALIASES: &[(&str, Word)] =
    &[("key", IDEMPOTENCY_KEY), ("partition_key", ORDERING_KEY)];

pub(crate) const INBOX_CONTRACT: Vocabulary =
    Vocabulary { title: "#[inbox_contract]", words: CONTRACT_WORDS, aliases: CONTRACT_ALIASES };
pub(crate) const CONTRACT: Vocabulary =
    Vocabulary { title: "contract!", words: CONTRACT_WORDS, aliases: CONTRACT_ALIASES };
pub(crate) const HANDLER: Vocabulary = Vocabulary {
    title: "#[handler]",
    words: &[
        KEY,
        LEGACY,
        TIMEOUT,
        MAX_ATTEMPTS,
        MAX_CRASHES,
        RETRY,
        CONCURRENCY,
        RATE,
        BATCH,
        LINGER,
        ON_DEAD,
        CONTEXT,
        CRATE,
    ],
    aliases: &[("name", KEY), ("id", KEY), ("attempts", MAX_ATTEMPTS), ("retries", RETRY)],
};
pub(crate) const HANDLERS: Vocabulary =
    Vocabulary { title: "#[handlers]", words: &[CRATE], aliases: &[] };
pub(crate) const RETRY_LIST: Vocabulary = Vocabulary {
    title: "retry(..)",
    words: &[IMMEDIATE, IMMEDIATE_DELAY, BACKOFF, INITIAL, MAX, JITTER, DELAYS],
    aliases: &[("min", INITIAL), ("delay", INITIAL), ("max_delay", MAX)],
};
pub(crate) const CONCURRENCY_LIST: Vocabulary =
    Vocabulary { title: "concurrency(..)", words: &[PROCESS, FLEET, PER_KEY], aliases: &[] };
