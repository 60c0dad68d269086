/// What a JSON reader objected to, without the value it met.
///
/// `serde` quotes the offending value (`invalid type: string "4111…", expected u64`). The reason
/// is stored beside the delivery and logged, where a payload's content has no place.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    for opening in ["invalid type: ", "invalid value: ", "unknown variant "] {
        let Some(found) = text.strip_prefix(opening) else { continue };
        let kind = found.find(['"', '`']).map_or("", |quote| &found[..quote]);
        // The last one: the value itself may contain these words.
        let expected = found.rfind(", expected ").map_or("", |at| &found[at..]);
        return format!("{}{expected}", format!("{opening}{kind}").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::from_str;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its reading is tested")]
    struct Card {
        number: u64,
    }

    #[derive(Debug, Deserialize)]
    enum Kind {
        Visa,
    }

    #[test]
    fn a_value_of_the_wrong_type_is_not_repeated() {
        let error = from_str::<Card>(r#"{"number":"4111, expected 1111"}"#).unwrap_err();
        assert_eq!(reason(&error), "invalid type: string, expected u64 at line 1 column 31");
    }

    #[test]
    fn a_value_out_of_range_is_not_repeated() {
        let error = from_str::<Card>(r#"{"number":-4111}"#).unwrap_err();
        assert_eq!(reason(&error), "invalid value: integer, expected u64 at line 1 column 15");
    }

    #[test]
    fn an_unknown_variant_is_not_repeated() {
        let error = from_str::<Kind>(r#""Secret""#).unwrap_err();
        assert_eq!(reason(&error), "unknown variant, expected `Visa` at line 1 column 8");
        assert!(matches!(from_str::<Kind>(r#""Visa""#), Ok(Kind::Visa)));
    }

    #[test]
    fn a_missing_field_keeps_its_name() {
        let error = from_str::<Card>("{}").unwrap_err();
        assert_eq!(reason(&error), "missing field `number` at line 1 column 2");
    }
}
