use std::fmt;

macro_rules! store_verbs {
    ($($(#[$doc:meta])* $verb:ident = $name:literal,)*) => {
        /// What a host asks of its store. The order is that of the spine, then that of the store traits.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum StoreVerb {
            $($(#[$doc])* $verb,)*
        }

        impl StoreVerb {
            /// Every verb there is.
            pub const ALL: &'static [Self] = &[$(Self::$verb),*];

            /// Its name in logs and metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$verb => $name,)*
                }
            }
        }
    };
}

store_verbs! {
    /// Stores messages.
    Accept = "accept",
    /// Claims ready deliveries.
    Lease = "lease",
    /// Extends leases.
    Renew = "renew",
    /// Begins the transaction that a handler runs in.
    Begin = "begin",
    /// Commits a handler's transaction together with its settlements.
    Commit = "commit",
    /// Rolls a handler's transaction back.
    RollBack = "roll_back",
    /// Writes what became of deliveries.
    Settle = "settle",
    /// Gives up leases without counting the attempt.
    Release = "release",
    /// The same without waiting for an answer, so that neither errors nor time are known.
    Abandon = "abandon",
    /// Connects to hear of what other processes do.
    Listen = "listen",
    /// Makes known which handler keys take which contracts.
    RegisterRoutes = "register_routes",
    /// Routes messages that waited for a route.
    Route = "route",
    /// Makes due deliveries ready.
    Promote = "promote",
    /// Asks when the next delivery is due.
    NextDue = "next_due",
    /// Takes expired leases away from vanished workers.
    Reclaim = "reclaim",
    /// Says that this host lives.
    Heartbeat = "heartbeat",
    /// Says that this host has ended.
    Deregister = "deregister",
    /// Dead-letters deliveries that no live host serves.
    DeadLetterOrphans = "dead_letter_orphans",
    /// Repairs lanes and limits that a crash left behind.
    Repair = "repair",
    /// Asks whether the store can be used.
    Check = "check",
    /// Shows one message.
    Show = "show",
    /// Lists deliveries.
    List = "list",
    /// Counts deliveries by handler and state.
    Counts = "counts",
    /// Gives a dead delivery its attempts again.
    Retry = "retry",
    /// Cancels deliveries.
    Cancel = "cancel",
    /// Gives deliveries another start.
    Reschedule = "reschedule",
    /// Lists routes.
    Routes = "routes",
    /// Closes a route.
    Retire = "retire",
    /// Opens a route again.
    Restore = "restore",
    /// Lists hosts.
    Hosts = "hosts",
    /// Lists lanes.
    Lanes = "lanes",
    /// Unblocks a lane whose head is dead.
    Unblock = "unblock",
}

impl fmt::Display for StoreVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_verb_has_a_name_of_its_own_and_its_place_in_the_list() {
        let names: HashSet<_> = StoreVerb::ALL.iter().map(|verb| verb.as_str()).collect();
        assert_eq!(names.len(), StoreVerb::ALL.len());
        // The meter finds the counts of a verb by its number.
        assert!(StoreVerb::ALL.iter().enumerate().all(|(at, verb)| *verb as usize == at));
    }
}
