//! The patterns of `like`: a text, or the start of one.

/// What a pattern asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Pattern {
    /// This text.
    Whole(String),
    /// Every text that starts so.
    Prefix(String),
}

impl Pattern {
    /// Reads a pattern. A backslash in front of `%`, `_` or another makes it an ordinary character.
    ///
    /// # Errors
    /// What is wrong and what to write instead, for `%` in front of the end and for `_`.
    pub(super) fn parse(pattern: &str) -> Result<Pattern, String> {
        let mut text = String::new();
        let mut characters = pattern.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next_if(|next| matches!(next, '%' | '_' | '\\')) {
                    Some(escaped) => text.push(escaped),
                    None => text.push('\\'),
                },
                '%' if characters.peek().is_none() => return Ok(Pattern::Prefix(text)),
                '%' => {
                    return Err("like finds texts by their start, as in 'abc%', not by what is inside; \
                         write \\% for the character itself, or filter what a wider condition gives"
                        .into());
                }
                '_' => {
                    return Err(
                        "like finds texts by their start, as in 'abc%'; _ for any character is not known; \
                         write \\_ for the character itself"
                            .into(),
                    );
                }
                c => text.push(c),
            }
        }
        Ok(Pattern::Whole(text))
    }
}

/// A text as a pattern that stands for itself.
pub(in crate::condition) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_at_the_end_asks_for_the_start_of_texts() {
        for (pattern, expected) in [
            ("abc%", Pattern::Prefix("abc".into())),
            ("%", Pattern::Prefix(String::new())),
            ("abc", Pattern::Whole("abc".into())),
            ("", Pattern::Whole(String::new())),
            (r"a\_b\%%", Pattern::Prefix("a_b%".into())),
            (r"C:\dir\\%", Pattern::Prefix(r"C:\dir\".into())),
            (r"a\%", Pattern::Whole("a%".into())),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap(), expected, "{pattern}");
        }
        assert!(Pattern::parse("%abc").unwrap_err().contains("by their start"));
        assert!(Pattern::parse("a_c%").unwrap_err().contains(r"\_"));
    }

    #[test]
    fn an_escaped_text_stands_for_itself() {
        for text in ["", "a", r"\", "100%", "a_b", r"\%_\\", "é"] {
            assert_eq!(Pattern::parse(&escaped(text)).unwrap(), Pattern::Whole(text.into()), "{text}");
        }
    }
}
