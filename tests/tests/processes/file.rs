use std::time::Duration;

use inbox::store::Inspect as _;

use crate::fleet::Fleet;

const KILLS: usize = 16;

#[tokio::test]
async fn four_processes_on_one_file_with_kills_lose_and_double_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    let store = inbox::sqlite::open(&file).await.unwrap();
    let address = file.to_string_lossy().into_owned();
    let mut fleet = Fleet::start(address, directory.path(), 4, 20_000);
    // By progress and not by time, so that every kill meets a busy process.
    let mut next_kill = 0;
    let mut kills = 0;
    loop {
        fleet.assert_alive();
        assert!(kills == KILLS || !fleet.stands_still(), "nothing happens any more");
        let progress = fleet.progress();
        if kills < KILLS && progress >= next_kill {
            fleet.kill(kills);
            kills += 1;
            next_kill = progress + 200_000;
        }
        if kills == KILLS {
            fleet.release();
        }
        if kills == KILLS && fleet.is_over(&store.counts().await.unwrap()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fleet.finish(&store).await;
}
