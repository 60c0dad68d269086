//! At any moment, every delivery that is not settled for good can be reached by someone, and nobody is given one
//! that has an older one of its lane before it.

mod check;
mod drain;
mod leases;
mod model;
mod order;
mod shared;
mod steps;

use std::any::Any;
use std::ops::Range;

use super::TestDatabase;
use super::kit::Bench;
use model::World;

/// So many steps has each walk.
const STEPS: usize = 60;

pub async fn nothing_is_lost_whatever_happens(database: &dyn TestDatabase) {
    let first = Bench::open(database).await;
    let second = first.other(database, "host-2").await;
    let mut world = World::new([first, second]);
    for seed in seeds() {
        // A task, so that its panic can be told together with the seed.
        world = match tokio::spawn(walk(world, seed)).await {
            Ok(world) => world,
            Err(error) => {
                let said = error.try_into_panic().map_or_else(|e| e.to_string(), said);
                panic!("INBOX_SEEDS={seed}..{} walks into this: {said}", seed + 1)
            }
        };
    }
}

/// The seeds of the walks: those in `INBOX_SEEDS`, such as `17..18`, or a hundred.
fn seeds() -> Range<u64> {
    let given = std::env::var("INBOX_SEEDS").unwrap_or_else(|_| "0..100".to_owned());
    let ends = given.split_once("..").map(|(from, to)| (from.parse(), to.parse()));
    let Some((Ok(from), Ok(to))) = ends else {
        panic!("INBOX_SEEDS is `{given}`: write a range such as 17..18")
    };
    from..to
}

fn said(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => {
            other.downcast::<&str>().map_or_else(|_| String::new(), |text| (*text).into())
        }
    }
}

async fn walk(mut world: World, seed: u64) -> World {
    world.begin(seed);
    for _ in 0..STEPS {
        world.step().await;
        world.check().await;
    }
    world.drain().await;
    world
}
