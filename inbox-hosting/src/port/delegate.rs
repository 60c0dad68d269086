/// Verbs of a store trait, each as a call of the store's with its name and how many deliveries an answer
/// moved.
macro_rules! delegate {
    ($($method:ident($($name:ident: $type:ty),*) -> $answer:ty => $verb:ident, $deliveries:expr;)*) => {$(
        fn $method(&self, $($name: $type),*) -> StoreFuture<'_, $answer> {
            self.call(StoreVerb::$verb, self.store.$method($($name),*), $deliveries)
        }
    )*};
}
