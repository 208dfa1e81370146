//! Words of a command line that a hint suggests. Pure.

use std::borrow::Cow;

/// A name as a POSIX shell takes it: quoted only when it must be.
pub(crate) fn shell_word(word: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./_-".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_what_a_shell_would_split_or_expand() {
        let table = [
            ("kind-member1", "kind-member1"),
            ("kubernetes-admin@kubernetes", "kubernetes-admin@kubernetes"),
            (
                "arn:aws:eks:eu-west-1:1:cluster/a",
                "arn:aws:eks:eu-west-1:1:cluster/a",
            ),
            ("my cluster", "'my cluster'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
            ("", "''"),
        ];
        for (word, quoted) in table {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
