use super::{KnownRoute, StoreError};

/// What an operator does to the routes of one contract, the same in every store: change them with
/// [`retire`](Self::retire) or [`restore`](Self::restore), and write those that differ.
///
/// Routes that supersede each other are one handler under several names: following `superseded_by`
/// from any of them leads to the same one, its *end*, and no other of them can take what is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    contract: String,
    routes: Vec<KnownRoute>,
}

impl Routing {
    /// All routes of `contract`.
    #[must_use]
    pub fn new(contract: &str, routes: Vec<KnownRoute>) -> Self {
        Self { contract: contract.to_owned(), routes }
    }

    /// The routes as they are now.
    #[must_use]
    pub fn into_routes(self) -> Vec<KnownRoute> {
        self.routes
    }

    /// Gives a key nothing new, until it is restored. What took its place goes on.
    ///
    /// # Errors
    /// When the contract has no such route.
    pub fn retire(&mut self, handler_key: &str) -> Result<(), StoreError> {
        let at = self.find(handler_key)?;
        self.routes[at].retired = true;
        Ok(())
    }

    /// Gives a key what is new again. The one that does so in its place is retired in turn, so that
    /// nothing is delivered to both.
    ///
    /// # Errors
    /// When the contract has no such route.
    pub fn restore(&mut self, handler_key: &str) -> Result<(), StoreError> {
        let at = self.find(handler_key)?;
        if let Some(end) = self.end_of(at) {
            let end = &mut self.routes[end];
            end.retired = true;
            end.superseded_by = Some(handler_key.to_owned());
        }
        let own = &mut self.routes[at];
        own.retired = false;
        own.superseded_by = None;
        Ok(())
    }

    fn find(&self, handler_key: &str) -> Result<usize, StoreError> {
        self.position(handler_key).ok_or_else(|| {
            let known = self.routes.iter().map(|route| route.handler_key.as_str());
            StoreError::no_such_route(&self.contract, handler_key, known)
        })
    }

    fn position(&self, handler_key: &str) -> Option<usize> {
        self.routes.iter().position(|route| route.handler_key == handler_key)
    }

    /// The last of those that took the place of this one, if any did. A ring ends before this one.
    fn end_of(&self, at: usize) -> Option<usize> {
        let mut end = at;
        // A ring that this one is not in would never end.
        for _ in 0..self.routes.len() {
            let next = self.routes[end].superseded_by.as_deref();
            match next.and_then(|key| self.position(key)) {
                Some(next) if next != at => end = next,
                _ => break,
            }
        }
        (end != at).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(given: &[(&str, Option<&str>)]) -> Routing {
        let route = |&(key, by): &(&str, Option<&str>)| KnownRoute {
            contract: "pay".to_owned(),
            handler_key: key.to_owned(),
            superseded_by: by.map(str::to_owned),
            retired: false,
        };
        Routing::new("pay", given.iter().map(route).collect())
    }

    fn open(routing: &Routing) -> Vec<&str> {
        let open = routing.routes.iter().filter(|route| route.takes_new());
        open.map(|route| route.handler_key.as_str()).collect()
    }

    #[test]
    fn of_names_of_one_handler_the_restored_one_is_open_and_no_other() {
        let mut routing = routes(&[("a", Some("c")), ("b", Some("c")), ("c", None), ("x", None)]);
        for key in ["b", "a", "c", "a", "a", "b"] {
            routing.restore(key).unwrap();
            assert_eq!(open(&routing), [key, "x"]);
        }
    }

    #[test]
    fn a_name_whose_successor_was_retired_is_the_only_one_open_when_it_is_restored() {
        let mut routing = routes(&[("a", Some("b")), ("b", None)]);
        routing.retire("b").unwrap();
        assert!(open(&routing).is_empty());
        routing.restore("a").unwrap();
        assert_eq!(open(&routing), ["a"]);
        routing.restore("b").unwrap();
        assert_eq!(open(&routing), ["b"], "it knows whose place it takes");
    }

    #[test]
    fn rings_and_names_of_nobody_do_not_keep_a_key_from_being_restored() {
        let mut routing = routes(&[("a", Some("b")), ("b", Some("c")), ("c", Some("b"))]);
        routing.restore("a").unwrap();
        assert_eq!(open(&routing), ["a"]);
        let mut routing = routes(&[("a", Some("b")), ("b", Some("a"))]);
        routing.restore("a").unwrap();
        assert_eq!(open(&routing), ["a"]);
        let mut routing = routes(&[("a", Some("gone"))]);
        routing.restore("a").unwrap();
        assert_eq!(open(&routing), ["a"]);
    }
}
