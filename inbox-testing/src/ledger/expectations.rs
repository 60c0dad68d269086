use std::collections::{BTreeMap, BTreeSet};

use inbox_core::message::MessageId;

/// What a test knows besides the rules that always hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expectations {
    handler_keys: BTreeMap<String, BTreeSet<String>>,
    ordered: bool,
    settled: bool,
    operator_retries: bool,
    turns: Vec<Group>,
    alone: Vec<Group>,
}

/// Messages of one handler that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) handler_key: String,
    /// What they share, for a sentence.
    pub(super) name: String,
    pub(super) messages: Vec<MessageId>,
}

impl Expectations {
    /// Nothing in particular.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Every accepted message of `contract` has one delivery for each of these keys, and no other.
    #[must_use]
    pub fn handler_keys<K: Into<String>>(
        mut self,
        contract: impl Into<String>,
        keys: impl IntoIterator<Item = K>,
    ) -> Self {
        self.handler_keys.insert(contract.into(), keys.into_iter().map(Into::into).collect());
        self
    }

    /// Messages with one ordering key were handled one at a time, in the order of acceptance. Only
    /// where none of them was scheduled for later.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// The handler had these messages, which share the ordering key `name`, one at a time and in this
    /// order: none began before the one in front of it had succeeded. For tests that know the order by
    /// other means than the receipts, of which a kill may take some.
    #[must_use]
    pub fn in_turn(
        mut self,
        handler_key: impl Into<String>,
        name: impl Into<String>,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Self {
        self.turns.push(Group::new(handler_key, name, messages));
        self
    }

    /// The handler had these messages, which share the limit `name`, one at a time, in any order.
    #[must_use]
    pub fn one_at_a_time(
        mut self,
        handler_key: impl Into<String>,
        name: impl Into<String>,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Self {
        self.alone.push(Group::new(handler_key, name, messages));
        self
    }

    /// The test waited until everything was settled: done or dead.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.settled = true;
        self
    }

    /// Someone gave dead deliveries another chance: their attempts count from 1 again, and they may
    /// succeed after those that were behind them.
    #[must_use]
    pub fn operator_retries(mut self) -> Self {
        self.operator_retries = true;
        self
    }

    /// The handler keys that messages of `contract` should have, if that was said.
    #[must_use]
    pub fn handler_keys_of(&self, contract: &str) -> Option<&BTreeSet<String>> {
        self.handler_keys.get(contract)
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ordered
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn has_operator_retries(&self) -> bool {
        self.operator_retries
    }

    pub(super) fn turns(&self) -> &[Group] {
        &self.turns
    }

    pub(super) fn alone(&self) -> &[Group] {
        &self.alone
    }
}

impl Group {
    fn new(
        handler_key: impl Into<String>,
        name: impl Into<String>,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Self {
        let messages = messages.into_iter().collect();
        Self { handler_key: handler_key.into(), name: name.into(), messages }
    }
}
