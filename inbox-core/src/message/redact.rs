use serde_json::error::Category;

/// What a JSON reader objected to, without the value it met.
///
/// `serde` quotes the offending value (`invalid type: string "4111…", expected u64`), and a type's
/// own errors say what they like. The reason is stored beside the delivery and logged, where a
/// payload's content has no place: only forms that are known to hold none are kept.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if error.classify() != Category::Data {
        // Broken JSON: the reader names its position and what it wanted.
        return text;
    }
    for opening in ["missing field `", "duplicate field `", "invalid length "] {
        if text.starts_with(opening) {
            return text;
        }
    }
    for opening in ["invalid type: ", "invalid value: ", "unknown variant ", "unknown field "] {
        let Some(found) = text.strip_prefix(opening) else { continue };
        // The last one: the value itself may contain these words.
        let Some(expected) = found.rfind(", expected ") else { break };
        let kind = found[..expected].split(['"', '`']).next().unwrap_or_default();
        return format!("{}{}", format!("{opening}{kind}").trim_end(), &found[expected..]);
    }
    match error.line() {
        // The reader was done when the type refused what it had read.
        0 => "the type refused the value".to_owned(),
        line => format!("the type refused the value at line {line} column {}", error.column()),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

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
    #[serde(try_from = "String")]
    struct Picky;

    impl TryFrom<String> for Picky {
        type Error = String;

        fn try_from(text: String) -> Result<Self, String> {
            Err(format!("`{text}` is not a card number"))
        }
    }

    fn said<T: DeserializeOwned>(json: &str) -> String {
        serde_json::from_str::<T>(json).map_err(|error| reason(&error)).err().unwrap()
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
        assert_eq!(
            said::<Kind>(r#""Secret""#),
            "unknown variant, expected `Visa` at line 1 column 8"
        );
        assert_eq!(
            said::<Card>(r#"{"4111":1}"#),
            "unknown field, expected `number` at line 1 column 7"
        );
        assert!(matches!(serde_json::from_str::<Kind>(r#""Visa""#), Ok(Kind::Visa)));
    }

    #[test]
    fn what_a_type_says_of_its_value_is_not_repeated() {
        assert_eq!(said::<Picky>(r#""4111""#), "the type refused the value");
        assert_eq!(
            said::<Vec<Picky>>(r#"["4111"]"#),
            "the type refused the value at line 1 column 8"
        );
    }

    #[test]
    fn a_missing_field_keeps_its_name_and_broken_json_its_place() {
        assert_eq!(said::<Card>("{}"), "missing field `number` at line 1 column 2");
        assert_eq!(said::<Card>("{"), "EOF while parsing an object at line 1 column 1");
    }
}
