use std::time::Duration;

use super::{DeliveryState, OrphanTerms, Served, StoreFuture};
use crate::Now;
use crate::message::MessageId;
use crate::policy::OnDead;

/// What keeps deliveries moving when nobody asks for it. A verb with a limit works on a bounded
/// number of rows and answers how many it moved, or which; fewer than `limit` means that nothing is left.
pub trait Maintain: Send + Sync + 'static {
    /// Makes known which handler keys take which contracts: from now on a message of the contract
    /// has a delivery for each. A key in `supersedes` is given nothing new of that contract any more, not even if a
    /// program that still uses it registers again; only a key that supersedes its successor in turn
    /// takes its place back. Messages that waited for a route are routed.
    ///
    /// A key that an operator [retired](super::Inspect::retire) stays so, and supersedes nothing.
    ///
    /// A handler that is new to a contract receives what is accepted from now on, and what has
    /// waited for a first handler.
    ///
    /// A key is for one contract: one that takes another contract already is refused with
    /// [`KeyTaken`](super::StoreErrorKind::KeyTaken), and nothing is registered.
    ///
    /// A store is for one bounded context, or for what has none: routes beside which there would be
    /// one of another context are refused with
    /// [`ContextTaken`](super::StoreErrorKind::ContextTaken), and nothing is registered.
    ///
    /// Answers every route of the contracts concerned, whoever registered it, sorted.
    fn register_routes(&self, routes: Vec<Route>, now: Now) -> StoreFuture<'_, Vec<KnownRoute>>;

    /// *waiting without a route → ready or waiting*, for messages whose contract has a route by
    /// now: where stores cannot see an acceptance that is still under way, registration misses it.
    fn route(&self, limit: u32, now: Now) -> StoreFuture<'_, u64>;

    /// *waiting → ready*, for deliveries whose time has come. The one that waited longest is first.
    fn promote(&self, limit: u32, now: Now) -> StoreFuture<'_, u64>;

    /// How long it is, by the store's clock, until the first delivery that waits for a moment is
    /// due: no time at all if one is due already, and nothing if none waits for a moment. What waits
    /// for a route does not count.
    fn next_due(&self, now: Now) -> StoreFuture<'_, Option<Duration>>;

    /// *lease → ready or dead*, for leases that have expired: their worker crashed, hangs, or is
    /// cut off. The attempt is not counted, and is recorded with the host that vanished.
    ///
    /// The first time, this accuses no one, for the worker may have held other deliveries too: the
    /// delivery is ready like any other. One with which a second worker in a row vanishes is
    /// *quarantined*, and leased apart from others; from the third on, it is leased alone. Once
    /// [`max_crashes`](super::Wanted::max_crashes) more workers in a row have vanished with it, and the last
    /// of them held it alone, it is dead. An attempt that is settled ends the row.
    ///
    /// Of a [run](super::LeaseStore::lease), only the first delivery that is still held is recorded. Several may
    /// have ended unsettled, so each of the run counts the crash. Where one of them has a crash already, their
    /// worker has settled each before it began the next: then the crash is that of the first alone.
    ///
    /// One that was [cancelled](super::Inspect::cancel) meanwhile is done, as cancelled. A delivery that its
    /// worker is about to settle is left to the worker. With a limit of 0 it moves nothing.
    ///
    /// A lease of which a part was reclaimed is [renewed](super::LeaseStore::renew) no more, or its worker
    /// would begin deliveries that are another's by now.
    fn reclaim(&self, limit: u32, now: Now) -> StoreFuture<'_, Reclaimed>;

    /// Makes a host known, or says that it is still there: its name, which is new at every start,
    /// and what it serves. From now on none of its keys counts as one that nobody serves.
    ///
    /// For people, and for [orphans](Self::give_up_orphans). What a host has leased is its own by its
    /// leases alone, whether it is known or not.
    fn announce(&self, host: &str, serves: Vec<Served>, now: Now) -> StoreFuture<'_, ()>;

    /// A host has ended. One that cannot say so is forgotten some time after it was seen last.
    fn leave(&self, host: &str) -> StoreFuture<'_, ()>;

    /// *ready → dead*, for orphans: deliveries under a key that no live host serves, while there are
    /// live hosts. No attempt is counted, and [`retry`](super::Inspect::retry) brings them back.
    ///
    /// The grace begins when this verb first sees such a delivery, whatever its age. It begins anew
    /// once a host with the key was [announced](Self::announce) or nothing is ready under it, and
    /// stands still while nobody looks or no host is alive. What waits for a moment is no orphan
    /// before that has come; what waits for a first route is none at all.
    ///
    /// Of a [lane](super::Lane), only the oldest delivery is an orphan: those behind have not had their turn. A
    /// dead one blocks its lane, unless the [route](Route::on_dead) of its key says that the next one has its
    /// turn then.
    ///
    /// Any number of hosts may do it at once. Answers which are dead now, in no particular order.
    fn give_up_orphans(
        &self,
        terms: OrphanTerms,
        limit: u32,
        now: Now,
    ) -> StoreFuture<'_, Vec<DeadDelivery>>;

    /// Brings lanes and limits back that nobody would: those of deliveries which are gone, and those that
    /// others wait behind although nobody holds them. Every verb hands them on by itself; this is for what
    /// was cut off in between, or changed by hand. Answers how many it mended.
    fn mend(&self, limit: u32, now: Now) -> StoreFuture<'_, u64>;

    /// Answers if the store can be reached and has the schema that this program works with.
    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A handler key that takes a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The contract's name.
    pub contract: String,
    /// The handler's key.
    pub handler_key: String,
    /// The keys it had before, which nothing new is stored under.
    pub supersedes: Vec<String>,
    /// The bounded context that the handler belongs to; empty, if none.
    pub context: String,
    /// What becomes of the lane of a delivery that is dead as an [orphan](Maintain::give_up_orphans): no
    /// claim is there then that would say it.
    pub on_dead: OnDead,
}

/// A handler key that the store knows for a contract.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownRoute {
    /// The contract's name.
    pub contract: String,
    /// The handler's key.
    pub handler_key: String,
    /// The key that takes what is new in its place.
    pub superseded_by: Option<String>,
    /// Whether an operator closed it: then only an operator opens it.
    pub retired: bool,
}

impl KnownRoute {
    /// Whether what is accepted now is delivered to it.
    #[must_use]
    pub fn takes_new(&self) -> bool {
        self.superseded_by.is_none() && !self.retired
    }
}

/// What became of the deliveries of expired leases, in no particular order: whoever called the verb is the
/// only one who can report it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Each of them.
    pub deliveries: Vec<ReclaimedDelivery>,
}

impl Reclaimed {
    /// Deliveries that are ready again.
    #[must_use]
    pub fn returned(&self) -> u64 {
        self.count(DeliveryState::Pending)
    }

    /// Deliveries that are dead.
    #[must_use]
    pub fn dead(&self) -> u64 {
        self.count(DeliveryState::Dead)
    }

    /// Deliveries that someone had cancelled.
    #[must_use]
    pub fn cancelled(&self) -> u64 {
        self.count(DeliveryState::Cancelled)
    }

    /// All deliveries that were moved.
    #[must_use]
    pub const fn moved(&self) -> u64 {
        self.deliveries.len() as u64
    }

    fn count(&self, state: DeliveryState) -> u64 {
        self.deliveries.iter().filter(|one| one.state == state).count() as u64
    }
}

/// A delivery whose worker vanished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimedDelivery {
    /// The message.
    pub message_id: MessageId,
    /// The key that the delivery is stored under.
    pub handler_key: String,
    /// The host that held it.
    pub host: String,
    /// The attempts that were counted, without this one.
    pub attempts: u32,
    /// The workers that vanished with it in a row; this one included, unless the delivery follows another one
    /// of its run.
    pub crashes: u32,
    /// Where it is now: pending, dead or cancelled.
    pub state: DeliveryState,
}

/// A delivery that a verb has dead-lettered although no worker asked for it, by name: whoever called the verb
/// is the only one who can report it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadDelivery {
    /// The message.
    pub message_id: MessageId,
    /// The key that the delivery is stored under.
    pub handler_key: String,
    /// The attempts that were counted.
    pub attempts: u32,
}
