//! Both programs as they are run, spoken to over HTTP.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod http;
mod program;

use inbox::testing::postgres::PostgresDatabase;
use serde_json::{Value, json};

use http::Answer;
use program::{Program, eventually};

fn place(web: &Program, order: &Value) -> Answer {
    web.ask("POST", "/orders", Some(&order.to_string()))
}

fn message_id(placed: &Answer) -> String {
    placed.json()["message_id"].as_str().unwrap().to_owned()
}

fn state(web: &Program, id: &str) -> String {
    let status = web.ask("GET", &format!("/messages/{id}"), None);
    assert_eq!(status.status, 200, "{status:?}");
    status.json()["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_order_is_accepted_by_one_process_and_confirmed_by_the_other() {
    let database = PostgresDatabase::create().await.unwrap();
    let (web, worker) = (Program::web(&database), Program::worker(&database));
    for probe in ["/ready", "/live"] {
        eventually(probe, || worker.ask("GET", probe, None).status == 200);
    }

    let orders: Vec<_> = (1..=5)
        .map(|number| json!({ "order": format!("A-{number}"), "amount_cents": 1999 }))
        .collect();
    let placed: Vec<_> = orders.iter().map(|order| place(&web, order)).collect();
    for placed in &placed {
        assert_eq!(placed.status, 202, "{placed:?}");
        let id = message_id(placed);
        eventually("completed", || state(&web, &id) == "completed");
    }
    // Posted again, before or after it was confirmed, it is the same.
    let again = place(&web, &orders[0]);
    assert_eq!((again.status, message_id(&again)), (202, message_id(&placed[0])));

    let client = database.connect().await.unwrap();
    let confirmed = "SELECT count(*) FROM orders WHERE confirmed_at IS NOT NULL";
    let confirmed: i64 = client.query_one(confirmed, &[]).await.unwrap().get(0);
    assert_eq!(confirmed, 5);

    assert_eq!((web.terminate(), worker.terminate()), (Some(0), Some(0)));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_reason_and_stores_nothing() {
    let database = PostgresDatabase::create().await.unwrap();
    let web = Program::web(&database);
    let bad = [
        ("not json", 400, "JSON"),
        (r#"{"order": "A-1"}"#, 422, "amount_cents"),
        (r#"{"order": "", "amount_cents": 1}"#, 422, "1 to 100 characters"),
        (r#"{"order": "A-1", "amount_cents": 0}"#, 422, "more than 0"),
    ];
    for (body, status, reason) in bad {
        let answer = web.ask("POST", "/orders", Some(body));
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(reason), "{answer:?}");
    }
    for (id, status) in [("42", 400), ("0190a2b4-7c1e-7d3a-8f00-3b2a1c0d9e8f", 404)] {
        let answer = web.ask("GET", &format!("/messages/{id}"), None);
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // Another order under a name that is taken.
    assert_eq!(place(&web, &json!({ "order": "A-1", "amount_cents": 1 })).status, 202);
    assert_eq!(place(&web, &json!({ "order": "A-1", "amount_cents": 2 })).status, 409);

    let client = database.connect().await.unwrap();
    let stored = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM inbox.message)";
    let stored = client.query_one(stored, &[]).await.unwrap();
    assert_eq!((stored.get::<_, i64>(0), stored.get::<_, i64>(1)), (1, 1));
}

#[test]
fn without_a_database_both_say_how_to_get_one() {
    for program in [env!("CARGO_BIN_EXE_web"), env!("CARGO_BIN_EXE_worker")] {
        let mut command = std::process::Command::new(program);
        let ended = command.env_remove("DATABASE_URL").output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains("DATABASE_URL is not set") && said.contains("docker run"), "{said}");
    }
}
