use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;

use super::find_outside_angles;
use crate::errors::Errors;
use crate::words::{Vocabulary, Word};

/// One argument: its name and the tokens after it.
pub(crate) struct Arg {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    // name
    Missing,
    // name = tokens
    Assigned(TokenStream),
    // name(tokens)
    Nested(TokenStream),
    // Anything else, which was reported.
    Broken,
}

impl Arg {
    /// The value's place, or the name's where there is no value.
    pub(crate) fn span(&self) -> Span {
        match &self.value {
            Value::Missing | Value::Broken => self.name.span(),
            Value::Assigned(tokens) | Value::Nested(tokens) if tokens.is_empty() => {
                self.name.span()
            }
            Value::Assigned(tokens) | Value::Nested(tokens) => tokens.span(),
        }
    }
}

/// The arguments of one list, known by name and each there once.
pub(crate) struct ArgList(Vec<Arg>);

impl ArgList {
    pub(crate) fn parse(
        pieces: impl IntoIterator<Item = TokenStream>,
        vocabulary: Vocabulary,
        errors: &mut Errors,
    ) -> Self {
        let mut args: Vec<Arg> = Vec::new();
        let mut pieces: Vec<_> = pieces.into_iter().collect();
        pieces.reverse();
        while let Some(piece) = pieces.pop() {
            let (piece, next) = cut_before_next_argument(piece, vocabulary, errors);
            pieces.extend(next);
            let Some(mut arg) = parse_arg(piece, vocabulary, errors) else { continue };
            if !vocabulary.words.iter().any(|word| arg.name == word.name) {
                errors.at(arg.name.span(), unknown(&arg.name, vocabulary));
                // Taken for the word it resembles, so that this word is not called missing too.
                let Some(word) = resembling(&arg.name, vocabulary) else { continue };
                arg.name = Ident::new(word.name, arg.name.span());
                if args.iter().any(|earlier| earlier.name == arg.name) {
                    continue;
                }
            } else if args.iter().any(|earlier| earlier.name == arg.name) {
                let message = format!("`{}` is given twice: keep one of them", arg.name);
                errors.at(arg.name.span(), message);
                continue;
            }
            args.push(arg);
        }
        Self(args)
    }

    /// Takes the argument `word` out of the list.
    pub(crate) fn take(&mut self, word: Word) -> Option<Arg> {
        let at = self.0.iter().position(|arg| arg.name == word.name)?;
        Some(self.0.swap_remove(at))
    }
}

/// Splits `name = "value" other = ..`, where a comma was forgotten.
fn cut_before_next_argument(
    piece: TokenStream,
    vocabulary: Vocabulary,
    errors: &mut Errors,
) -> (TokenStream, Option<TokenStream>) {
    let tokens: Vec<_> = piece.clone().into_iter().collect();
    let is_word = |name: &Ident| vocabulary.words.iter().any(|word| name == word.name);
    let starts_argument = |rest: &[TokenTree]| match rest {
        [TokenTree::Ident(_), TokenTree::Punct(punct), ..] => punct.as_char() == '=',
        [TokenTree::Ident(name), TokenTree::Group(_), ..] => is_word(name),
        _ => false,
    };
    // `name = value` takes three tokens, `name(..)` two.
    let least = if matches!(tokens.get(1), Some(TokenTree::Group(_))) { 2 } else { 3 };
    let Some(next) = find_outside_angles(&tokens, least, starts_argument) else {
        return (piece, None);
    };
    errors.at(tokens[next].span(), "expected a comma before this");
    let (this, next) = tokens.split_at(next);
    (this.iter().cloned().collect(), Some(next.iter().cloned().collect()))
}

fn parse_arg(piece: TokenStream, vocabulary: Vocabulary, errors: &mut Errors) -> Option<Arg> {
    let mut tokens = piece.clone().into_iter();
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        let example = vocabulary.words[0].example;
        errors.over(piece, format!("expected an argument such as `{example}`"));
        return None;
    };
    let value = match tokens.next() {
        None => Value::Missing,
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
            Value::Assigned(tokens.by_ref().collect())
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
            Value::Nested(group.stream())
        }
        Some(other) => {
            errors.at(other.span(), format!("expected `=` after `{name}`"));
            return Some(Arg { name, value: Value::Broken });
        }
    };
    if let Some(extra) = tokens.next() {
        errors.at(extra.span(), "expected a comma before this");
    }
    Some(Arg { name, value })
}

fn unknown(name: &Ident, vocabulary: Vocabulary) -> String {
    let hint = match resembling(name, vocabulary) {
        Some(word) => format!("did you mean `{}`? it", word.name),
        None => "it".to_owned(),
    };
    let known: Vec<_> = vocabulary.words.iter().map(|word| format!("`{}`", word.name)).collect();
    let title = vocabulary.title;
    format!("`{title}` has no argument `{name}`: {hint} takes {}", known.join(", "))
}

/// The word that was probably meant.
fn resembling(name: &Ident, vocabulary: Vocabulary) -> Option<Word> {
    let name = name.to_string();
    let alias = vocabulary.aliases.iter().find(|(alias, _)| *alias == name);
    if let Some((_, word)) = alias {
        return Some(*word);
    }
    // One slip in a short word makes another word; two in a longer one hardly do.
    let allowed = if name.len() <= 4 { 1 } else { 2 };
    let words = vocabulary.words.iter().copied();
    let nearest = words.clone().map(|word| (distance(&name, word.name), word));
    let nearest = nearest.min_by_key(|(distance, _)| *distance);
    nearest
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, word)| word)
        .or_else(|| words.clone().find(|word| name.len() >= 4 && word.name.starts_with(&name)))
}

/// How many letters must be added, dropped or changed to turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in right.bytes().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_near_and_another_word_is_far() {
        assert_eq!(distance("retry", "retry"), 0);
        assert_eq!(distance("retrys", "retry"), 1);
        assert_eq!(distance("timeuot", "timeout"), 2);
        assert!(distance("attempts", "timeout") > 2);
    }
}
