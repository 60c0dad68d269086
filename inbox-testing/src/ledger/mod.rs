//! What happened, and whether it may.
