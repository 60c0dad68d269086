use std::fmt;

use serde::de::{DeserializeOwned, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its reading is tested")]
struct Card {
    number: u64,
}

#[derive(Debug, Deserialize)]
enum Kind {
    Visa,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn said<T: DeserializeOwned>(json: &str) -> String {
    let error = serde_json::from_str::<T>(json).map_err(|error| reason(&error, json.as_bytes()));
    error.err().unwrap()
}

#[test]
fn a_value_of_the_wrong_type_is_not_repeated() {
    assert_eq!(
        said::<Card>(r#"{"number":"4111, expected 1111"}"#),
        "invalid type: string, expected u64 at line 1 column 31"
    );
    assert_eq!(
        said::<Card>(r#"{"number":null}"#),
        "invalid type: null, expected u64 at line 1 column 14"
    );
}

#[test]
fn a_value_out_of_range_is_not_repeated() {
    assert_eq!(
        said::<Card>(r#"{"number":-4111}"#),
        "invalid value: integer, expected u64 at line 1 column 15"
    );
}

#[test]
fn an_unknown_name_is_not_repeated() {
    assert_eq!(said::<Kind>(r#""Secret""#), "unknown variant, expected `Visa` at line 1 column 8");
    assert_eq!(
        said::<Card>(r#"{"4111":1}"#),
        "unknown field, expected `number` at line 1 column 7"
    );
    assert_eq!(
        said::<Nothing>(r#"{"x, expected SECRET":1}"#),
        "an unknown field at line 1 column 21"
    );
    assert!(matches!(serde_json::from_str::<Kind>(r#""Visa""#), Ok(Kind::Visa)));
}

#[test]
fn a_missing_field_keeps_its_name_and_broken_json_its_place() {
    assert_eq!(said::<Card>("{}"), "missing field `number` at line 1 column 2");
    assert_eq!(said::<Card>("{"), "EOF while parsing an object at line 1 column 1");
    assert_eq!(said::<Card>(r#"{"number":1,"number":1}"#), "a duplicate field at line 1 column 20");
}

/// What types may say of a value, in forms that resemble serde's own.
const FORMS: &[fn(&str) -> String] = &[
    |text| format!("`{text}` is not a card number"),
    |text| format!("invalid length of card {text}"),
    |text| format!("missing field `{text}`"),
    |text| format!("duplicate field `{text}`"),
    |text| format!("invalid value: {text}, expected 16 digits"),
    |text| format!("invalid type: string, expected 16 digits, got {text}"),
    |text| format!("unknown variant `x`, expected {}", text.to_lowercase()),
];

struct Picky<const FORM: usize>;

impl<'de, const FORM: usize> Deserialize<'de> for Picky<FORM> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(FORMS[FORM](&String::deserialize(deserializer)?)))
    }
}

#[test]
fn what_a_type_says_of_its_value_is_not_repeated_in_whatever_form() {
    let all = [
        said::<Picky<0>>,
        said::<Picky<1>>,
        said::<Picky<2>>,
        said::<Picky<3>>,
        said::<Picky<4>>,
        said::<Picky<5>>,
        said::<Picky<6>>,
    ];
    assert_eq!(all.len(), FORMS.len());
    for said in all {
        let reason = said(r#""SECRET""#);
        assert!(!reason.to_lowercase().contains("secret"), "{reason}");
    }
    assert_eq!(said::<Picky<0>>(r#""SECRET""#), "the type refused the value");
}

/// Describes what it wants in terms of what it got.
struct Sly;

impl<'de> Deserialize<'de> for Sly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sees;
        impl Visitor<'_> for Sees {
            type Value = Sly;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything else")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sly, E> {
                Err(E::invalid_value(Unexpected::Other(text), &self))
            }
        }
        deserializer.deserialize_str(Sees)
    }
}

#[test]
fn a_value_that_is_passed_off_as_its_own_kind_is_not_repeated() {
    let reason = said::<Sly>(r#""SECRET""#);
    assert_eq!(reason, "a value out of range at line 1 column 8");
}
