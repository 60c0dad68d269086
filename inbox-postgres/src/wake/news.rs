use std::time::Duration;

use tokio::time::Instant;

/// Others are told no more often than this.
const REST: Duration = Duration::from_millis(10);

/// After a turn was handed on, which workers here take up at once, others are told in a while: all of them
/// would ask for each one, in vain.
const HANDED_ON: Duration = Duration::from_millis(100);

/// When a transaction is first expected to be committed; then the gaps double.
const FIRST: Duration = Duration::from_millis(5);

/// How long a transaction is expected to be committed.
const EXPECTED: Duration = Duration::from_secs(2);

/// What is to be told, and whether someone is about to tell it.
#[derive(Debug, Default)]
pub(super) struct News {
    is_fresh: bool,
    repeat: Option<Repeat>,
    /// When what was handed on here is to be told.
    handed_on: Option<Instant>,
    told_at: Option<Instant>,
    is_watched: bool,
}

/// News of a commit that nobody sees: told again and again.
#[derive(Debug)]
struct Repeat {
    at: Instant,
    gap: Duration,
    until: Instant,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To be told now; if it is a repetition, here too.
    Tell { is_repeated: bool },
    /// Nothing before this moment, unless there is fresh news.
    Wait(Instant),
    /// There is no news. Whoever asked need not ask again: whoever has news next will say so.
    Nothing,
}

impl News {
    /// Something was committed. Answers whether nobody knows yet.
    pub(super) fn add(&mut self) -> bool {
        !std::mem::replace(&mut self.is_fresh, true) || !self.is_watched
    }

    /// Someone has a turn whom workers here know of. Answers whether whoever tells the others has to be told.
    pub(super) fn hand_on(&mut self, now: Instant) -> bool {
        let is_first = self.handed_on.is_none();
        self.handed_on.get_or_insert(now + HANDED_ON);
        is_first || !self.is_watched
    }

    /// Something will be committed soon.
    pub(super) fn expect(&mut self, now: Instant) {
        let at = self.repeat.as_ref().map_or(now + FIRST, |last| last.at.min(now + FIRST));
        self.repeat = Some(Repeat { at, gap: FIRST, until: now + EXPECTED });
    }

    /// Answers whether nobody was asking what is next until now.
    pub(super) fn watch(&mut self) -> bool {
        !std::mem::replace(&mut self.is_watched, true)
    }

    /// Nobody asks any more, although there may be news.
    pub(super) fn abandon(&mut self) {
        self.is_watched = false;
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        let fresh = self.is_fresh.then_some(now);
        let repeat = self.repeat.as_ref().map(|repeat| repeat.at);
        let Some(due) = [fresh, repeat, self.handed_on].into_iter().flatten().min() else {
            self.is_watched = false;
            return Next::Nothing;
        };
        let due = self.told_at.map_or(due, |told_at| due.max(told_at + REST));
        if due > now {
            return Next::Wait(due);
        }
        self.is_fresh = false;
        self.handed_on = None;
        self.told_at = Some(now);
        Next::Tell { is_repeated: self.repeats(now) }
    }

    /// Tells what is left at once: there will be no other time.
    pub(super) fn last(&mut self) -> Next {
        let handed_on = self.handed_on.take().is_some();
        let (is_fresh, repeat) = (std::mem::take(&mut self.is_fresh), self.repeat.take());
        match is_fresh || handed_on || repeat.is_some() {
            true => Next::Tell { is_repeated: repeat.is_some() },
            false => Next::Nothing,
        }
    }

    /// Whether a repetition is due, and when the next one is.
    fn repeats(&mut self, now: Instant) -> bool {
        let Some(repeat) = self.repeat.as_mut().filter(|repeat| repeat.at <= now) else {
            return false;
        };
        repeat.gap *= 2;
        repeat.at = (now + repeat.gap).min(repeat.until);
        if now >= repeat.until {
            self.repeat = None;
        }
        true
    }
}

#[cfg(test)]
mod tests;
