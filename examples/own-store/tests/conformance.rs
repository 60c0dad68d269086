//! The suite that checks every store, on this one.

use std::pin::Pin;
use std::sync::Arc;

use inbox::store::Store;
use inbox::testing::conformance::TestDatabase;
use own_store::MemoryStore;

struct Memory(MemoryStore);

impl TestDatabase for Memory {
    fn connect(&self) -> Pin<Box<dyn Future<Output = Arc<dyn Store>> + Send + '_>> {
        Box::pin(async { Arc::new(self.0.clone()) as Arc<dyn Store> })
    }
}

inbox::testing::conformance!(|| async { Memory(MemoryStore::new()) });
