//! Words for the terminal: made harmless, quoted for a shell, compared for near matches. Pure.

/// The text as [`escaped`], cut after 1024 characters.
pub fn harmless(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    escaped(&short)
}

/// The text with everything that a terminal would obey, or that would reorder or hide text, written as `\u{..}`.
///
/// Names and messages come from clusters that may be hostile: control characters (Unicode Cc), bidirectional and
/// zero-width formatting characters (Unicode Standard Annex 9) never reach the terminal raw.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_formatting(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// The word as a POSIX shell takes it literally.
pub fn shell_word(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The known names that look like this one, the closest first, at most three.
pub fn near_matches<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&wanted, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(score, candidate)| *score > 0.75 || candidate.to_lowercase().contains(&wanted))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// A duration in the words of a person: `45 s`, `2 min`, `2 min 5 s`.
pub fn seconds(duration: std::time::Duration) -> String {
    let total = duration.as_secs();
    match (total / 60, total % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn is_formatting(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_never_reach_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(harmless("a\nb"), "a\\u{a}b");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(harmless("münchen"), "münchen");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(harmless(&"x".repeat(10_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn words_are_quoted_only_when_a_shell_would_change_them() {
        assert_eq!(shell_word("k3d-a"), "k3d-a");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("[{\"op\"}]"), "'[{\"op\"}]'");
    }

    #[test]
    fn near_matches_come_closest_first() {
        let known = ["cluster-a", "cluster-b", "prod"];
        assert_eq!(near_matches("clustr-a", known), ["cluster-a", "cluster-b"]);
        assert_eq!(near_matches("PROD", known), ["prod"]);
        assert!(near_matches("zzz", known).is_empty());
    }
}
