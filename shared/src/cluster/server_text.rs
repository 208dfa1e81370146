//! Keeps what an API server says short and free of secrets. Pure.

/// A server's text with long quotations left out and at most some lines long.
///
/// An invalid patch is answered with the whole object, quoted.
pub(crate) fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        short.push_str(before);
        let (quotation, after) = after.split_at(end_of_quotation(after));
        match quotation.len() > LONGEST_QUOTATION {
            true => short.push_str("\"...\""),
            false => {
                short.push('"');
                short.push_str(quotation);
            }
        }
        rest = after;
    }
    short.push_str(rest);
    match short.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}...", &short[..end]),
        None => short,
    }
}

/// What is wrong with a field, without the value that it has: `Invalid value: "x": too long` becomes `Invalid value`.
pub(crate) fn without_value(text: &str) -> String {
    text.split(':').next().unwrap_or_default().to_owned()
}

/// Whether a path leads to Secrets, directly or through a proxy to a member.
pub(crate) fn leads_to_secrets(path: &str) -> bool {
    path.split('/').any(|segment| segment == "secrets")
}

/// Behind the closing quote, past quotes that Go has escaped; the end of the text if there is none.
fn end_of_quotation(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

const LONGEST_QUOTATION: usize = 128;
const LONGEST_TEXT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_long_quotations() {
        let long = "x".repeat(200);
        let table = [
            ("a \"b\" c".to_owned(), "a \"b\" c".to_owned()),
            (
                format!("a \"{long}\" c \"d\""),
                "a \"...\" c \"d\"".to_owned(),
            ),
            (format!("a \"\\\"{long}\\\\\" c"), "a \"...\" c".to_owned()),
            (
                format!("never closed \"{long}"),
                "never closed \"...\"".to_owned(),
            ),
            ("é\"é\"é".to_owned(), "é\"é\"é".to_owned()),
            ("y".repeat(2000), format!("{}...", "y".repeat(1024))),
        ];
        for (text, expected) in table {
            assert_eq!(shortened(&text), expected);
        }
    }

    #[test]
    fn knows_paths_of_secrets() {
        assert!(leads_to_secrets("/api/v1/namespaces/x/secrets/s"));
        assert!(leads_to_secrets(
            "/apis/cluster.karmada.io/v1alpha1/clusters/a/proxy/api/v1/namespaces/x/secrets"
        ));
        assert!(!leads_to_secrets(
            "/api/v1/namespaces/x/configmaps/secrets-of-x"
        ));
    }
}
