//! Texts of others inside XML and HTML. Pure.

use std::fmt::{self, Display, Formatter, Write};

use karmada_repair::text::escaped;

/// A text that is shown as it is in elements and in quoted attributes, whatever it holds; control and direction characters
/// are written out, as everywhere else.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in escaped(self.0).chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // No characters of XML (XML 1.0, 2.2).
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// The text, cut to this many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let start: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{start}…")
        }
    }
}

/// The text, cut in its middle to this many characters: of a path both ends tell something.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let end = most.saturating_sub(1) * 2 / 3;
    let start: String = text.chars().take(most.saturating_sub(1 + end)).collect();
    let end: String = text.chars().skip(length - end).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let text = "<script>\"a\"&'b'</script>\u{202e}\u{0}\u{ffff}";
        let expected =
            "&lt;script&gt;&quot;a&quot;&amp;&#39;b&#39;&lt;/script&gt;\\u{202e}\\u{0}\u{fffd}";
        assert_eq!(Text(text).to_string(), expected);
    }

    #[test]
    fn long_texts_are_cut_to_whole_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüx", 3), "äö…");
        assert_eq!(cut_middle("abcdefghij", 7), "ab…ghij");
        assert_eq!(cut_middle("abcdefg", 7), "abcdefg");
    }
}
