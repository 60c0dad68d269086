use proc_macro2::{TokenStream, TokenTree};

/// Cuts a list at its top-level commas. Each piece is then parsed on its own, so that a mistake in
/// one does not hide the others.
///
/// Commas between angle brackets belong to a type: `upgrades = Archive<String, u8>` is one piece.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut pieces = vec![TokenStream::new()];
    for (token, is_outside) in tokens.iter().zip(outside_angles(&tokens)) {
        match pieces.last_mut() {
            Some(piece) if !(is_outside && is_mark(token, ',')) => piece.extend([token.clone()]),
            _ => pieces.push(TokenStream::new()),
        }
    }
    // A trailing comma leaves an empty piece; so does `a,,b`, which harms nobody.
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The place of the first token at or after `from`, outside of angle brackets, where `wanted` holds
/// for the tokens from there on.
pub(crate) fn find_outside_angles(
    tokens: &[TokenTree],
    from: usize,
    wanted: impl Fn(&[TokenTree]) -> bool,
) -> Option<usize> {
    let outside = outside_angles(tokens);
    (from..tokens.len()).find(|at| outside[*at] && wanted(&tokens[*at..]))
}

/// For each token, whether it stands outside of all `<..>`.
fn outside_angles(tokens: &[TokenTree]) -> Vec<bool> {
    let mut depth = 0_u32;
    let mut after_minus = false;
    let mut is_outside = |token: &TokenTree| {
        let was_outside = depth == 0;
        match token {
            token if is_mark(token, '<') => depth += 1,
            // Not the head of an arrow.
            token if is_mark(token, '>') && !after_minus => depth = depth.saturating_sub(1),
            _ => {}
        }
        after_minus = is_mark(token, '-');
        was_outside
    };
    tokens.iter().map(&mut is_outside).collect()
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let tokens = text.parse().unwrap();
        split_at_commas(tokens).iter().map(|piece| piece.to_string().replace(' ', "")).collect()
    }

    #[test]
    fn commas_of_a_type_do_not_cut() {
        assert_eq!(pieces("a = B<C, D>, e = [1, 2], f"), ["a=B<C,D>", "e=[1,2]", "f"]);
        assert_eq!(pieces("a = fn() -> B, c"), ["a=fn()->B", "c"]);
    }

    #[test]
    fn what_stands_in_a_type_is_not_found() {
        let assigns = |rest: &[TokenTree]| rest[0].to_string() == "=";
        let found = |text: &str| {
            let tokens: Vec<_> = text.parse::<TokenStream>().unwrap().into_iter().collect();
            find_outside_angles(&tokens, 0, assigns)
        };
        assert_eq!(found("A<dyn B<Item = u8>>"), None);
        assert_eq!(found("A<fn() -> u8, dyn B<Item = u8>>"), None);
        assert_eq!(found("A<fn() -> u8, Item = u8> name = 1"), Some(13));
    }

    #[test]
    fn a_trailing_comma_adds_nothing() {
        assert_eq!(pieces("a = 1,"), ["a=1"]);
        assert!(pieces("").is_empty());
    }
}
