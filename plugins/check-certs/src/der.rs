//! Walks DER (ITU-T X.690) far enough for private keys and for the parts of certificates that parsers normalise. Pure.

/// One element: its tag byte and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The identifier octet, as `0x30` for a SEQUENCE.
    pub tag: u8,
    /// The content octets.
    pub content: &'a [u8],
    /// Identifier, length and content together.
    pub whole: &'a [u8],
}

impl<'a> Element<'a> {
    /// The elements inside a constructed one; what cannot be read ends the list.
    pub fn children(&self) -> Elements<'a> {
        Elements { rest: self.content }
    }

    /// The content when the tag is this one.
    pub fn of(self, tag: u8) -> Option<&'a [u8]> {
        (self.tag == tag).then_some(self.content)
    }
}

/// The elements of a sequence, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The elements in these bytes.
    pub fn of(bytes: &'a [u8]) -> Elements<'a> {
        Elements { rest: bytes }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (element, rest) = first(self.rest)?;
        self.rest = rest;
        Some(element)
    }
}

/// The first element, and what follows it; `None` when there is none with a definite length that fits.
pub fn first(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    // Tags above 30 take more octets and do not occur in certificates and keys.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x84 => {
            let octets = usize::from(length & 0x7f);
            let (octets, rest) = rest.split_at_checked(octets)?;
            let length = octets
                .iter()
                .fold(0usize, |length, &octet| (length << 8) | usize::from(octet));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    let whole = &bytes[..bytes.len() - rest.len()];
    Some((
        Element {
            tag,
            content,
            whole,
        },
        rest,
    ))
}

/// The one element that makes up all of these bytes; `None` when something follows it.
pub fn only(bytes: &[u8]) -> Option<Element<'_>> {
    first(bytes)
        .filter(|(_, rest)| rest.is_empty())
        .map(|(element, _)| element)
}

/// An unsigned integer's bytes without leading zeros.
pub fn unsigned(content: &[u8]) -> &[u8] {
    let zeros = content.iter().take_while(|&&byte| byte == 0).count();
    &content[zeros..]
}

/// SEQUENCE.
pub const SEQUENCE: u8 = 0x30;
/// INTEGER.
pub const INTEGER: u8 = 0x02;
/// BIT STRING.
pub const BIT_STRING: u8 = 0x03;
/// OCTET STRING.
pub const OCTET_STRING: u8 = 0x04;
/// OBJECT IDENTIFIER.
pub const OBJECT_IDENTIFIER: u8 = 0x06;
/// UTCTime.
pub const UTC_TIME: u8 = 0x17;
/// GeneralizedTime.
pub const GENERALIZED_TIME: u8 = 0x18;
/// `[0]`, constructed.
pub const CONTEXT_0: u8 = 0xa0;
/// `[1]`, constructed.
pub const CONTEXT_1: u8 = 0xa1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_element_after_the_other() {
        let bytes = [0x30, 0x06, 0x02, 0x01, 0x05, 0x04, 0x01, 0xff];
        let sequence = only(&bytes).expect("it is whole");
        let children: Vec<u8> = sequence.children().map(|child| child.tag).collect();
        assert_eq!(children, [INTEGER, OCTET_STRING]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x05, 0x00],
            &[0x30, 0x80, 0x00, 0x00],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x1f, 0x01, 0x00],
        ] {
            assert!(first(bytes).is_none(), "{bytes:?}");
        }
        assert!(only(&[0x05, 0x00, 0x00]).is_none());
    }
}
