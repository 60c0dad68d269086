use proc_macro2::{TokenStream, TokenTree};

/// Cuts a list at its top-level commas. Each piece is then parsed on its own, so that a mistake in
/// one does not hide the others.
///
/// Commas between angle brackets belong to a type: `upgrades = Archive<String, u8>` is one piece.
pub(crate) fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let mut pieces = Vec::new();
    let mut piece = TokenStream::new();
    let mut angles = 0_u32;
    let mut previous = ' ';
    for token in tokens {
        let mark = match &token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match mark {
            ',' if angles == 0 => {
                pieces.push(std::mem::take(&mut piece));
                previous = mark;
                continue;
            }
            '<' => angles += 1,
            '>' if previous != '-' => angles = angles.saturating_sub(1),
            _ => {}
        }
        previous = mark;
        piece.extend([token]);
    }
    pieces.push(piece);
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
    let mut angles = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => angles += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => angles = angles.saturating_sub(1),
            _ if angles > 0 || at < from => {}
            _ if wanted(&tokens[at..]) => return Some(at),
            _ => {}
        }
    }
    None
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
    fn a_trailing_comma_adds_nothing() {
        assert_eq!(pieces("a = 1,"), ["a=1"]);
        assert!(pieces("").is_empty());
    }
}
