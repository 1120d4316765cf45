//! The words of the text form, each with its place.

use crate::condition::tree::Relation;
use smalti_types::{Error, Result};
use std::fmt;

/// A word of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Or,
    Not,
    In,
    Is,
    Null,
    True,
    False,
}

const KEYWORDS: [(&str, Keyword); 8] = [
    ("and", Keyword::And),
    ("or", Keyword::Or),
    ("not", Keyword::Not),
    ("in", Keyword::In),
    ("is", Keyword::Is),
    ("null", Keyword::Null),
    ("true", Keyword::True),
    ("false", Keyword::False),
];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Keyword(Keyword),
    /// A name as it is, without quotes.
    Bare(String),
    /// A name in quotes.
    Quoted(String),
    Text(String),
    Bytes(Vec<u8>),
    Int(i128),
    Float(f64),
    Relation(Relation),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    End,
}

impl Word {
    /// Whether it can come behind a whole test.
    pub(super) fn ends_test(&self) -> bool {
        matches!(self, Word::Keyword(Keyword::And | Keyword::Or) | Word::Close | Word::End)
    }
}

/// A word, and where it was found.
#[derive(Debug, Clone)]
pub(super) struct Found<'t> {
    pub(super) word: Word,
    /// The number of its first character, from 1.
    pub(super) at: usize,
    text: &'t str,
}

impl Found<'_> {
    /// The error of finding this where something else belongs.
    pub(super) fn unexpected(&self, expected: impl fmt::Display) -> Error {
        let found = match self.text {
            "" => "the end".into(),
            text => shortened(text),
        };
        Error::invalid(format!("at character {}: found {found}, expected {expected}", self.at))
    }
}

/// The most characters of the text that a message quotes.
const MAX_QUOTED: usize = 40;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

fn keyword(name: &str) -> Option<Keyword> {
    KEYWORDS.iter().find(|(text, _)| text.eq_ignore_ascii_case(name)).map(|(_, keyword)| *keyword)
}

/// Whether a field of the name is written without quotes.
pub(in crate::condition) fn is_bare_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(starts_name) && characters.all(continues_name) && keyword(name).is_none()
}

/// The words of a text, one after the other.
pub(super) struct Words<'t> {
    rest: &'t str,
    /// The number of the first character of the rest.
    at: usize,
    next: Option<Found<'t>>,
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Words { rest: text, at: 1, next: None }
    }

    pub(super) fn next(&mut self) -> Result<Found<'t>> {
        match self.next.take() {
            Some(found) => Ok(found),
            None => self.read(),
        }
    }

    pub(super) fn peek(&mut self) -> Result<Found<'t>> {
        let found = self.next()?;
        self.next = Some(found.clone());
        Ok(found)
    }

    /// Whether an opening parenthesis comes next.
    pub(super) fn peek_open(&mut self) -> bool {
        self.peek().is_ok_and(|found| found.word == Word::Open)
    }

    fn read(&mut self) -> Result<Found<'t>> {
        self.take_while(char::is_whitespace);
        let (start, at) = (self.rest, self.at);
        let word = self.word()?;
        let text = &start[..start.len() - self.rest.len()];
        Ok(Found { word, at, text })
    }

    fn word(&mut self) -> Result<Word> {
        let Some(first) = self.rest.chars().next() else { return Ok(Word::End) };
        let second = self.rest[first.len_utf8()..].chars().next();
        Ok(match (first, second) {
            ('<', Some('=')) => self.symbol(2, Word::Relation(Relation::Le)),
            ('<', Some('>')) | ('!', Some('=')) => self.symbol(2, Word::Relation(Relation::Ne)),
            ('>', Some('=')) => self.symbol(2, Word::Relation(Relation::Ge)),
            ('=', Some('=')) => self.symbol(2, Word::Relation(Relation::Eq)),
            ('<', _) => self.symbol(1, Word::Relation(Relation::Lt)),
            ('>', _) => self.symbol(1, Word::Relation(Relation::Gt)),
            ('=', _) => self.symbol(1, Word::Relation(Relation::Eq)),
            ('(', _) => self.symbol(1, Word::Open),
            (')', _) => self.symbol(1, Word::Close),
            ('[', _) => self.symbol(1, Word::OpenBracket),
            (']', _) => self.symbol(1, Word::CloseBracket),
            (',', _) => self.symbol(1, Word::Comma),
            ('\'', _) => Word::Text(self.quoted('\'')?),
            ('"' | '`', _) => Word::Quoted(self.quoted(first)?),
            ('x' | 'X', Some('\'')) => self.bytes()?,
            ('0'..='9' | '.' | '-' | '+', _) => self.number()?,
            (first, _) if starts_name(first) => {
                let name = self.take_while(continues_name);
                keyword(name).map_or_else(|| Word::Bare(name.to_owned()), Word::Keyword)
            }
            _ => return Err(self.problem(format_args!("{first:?} has no meaning here"))),
        })
    }

    fn problem(&self, what: fmt::Arguments<'_>) -> Error {
        Error::invalid(format!("at character {}: {what}", self.at))
    }

    fn skip(&mut self, byte_len: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(byte_len);
        self.rest = rest;
        self.at += taken.chars().count();
        taken
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        self.skip(end)
    }

    fn symbol(&mut self, byte_len: usize, word: Word) -> Word {
        self.skip(byte_len);
        word
    }

    /// What stands between quotes; a doubled quote stands for itself.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        let mut rest = &self.rest[1..];
        loop {
            let Some(end) = rest.find(quote) else {
                return Err(self.problem(format_args!("the closing {quote} is missing")));
            };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix(quote) {
                Some(more) => {
                    text.push(quote);
                    rest = more;
                }
                None => break,
            }
        }
        self.skip(self.rest.len() - rest.len());
        Ok(text)
    }

    fn bytes(&mut self) -> Result<Word> {
        let at = self.at;
        self.skip(1);
        let digits = self.quoted('\'')?;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let pairs = digits.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = pairs
            .map(|pair| match pair {
                &[high, low] => Some(digit(high)? << 4 | digit(low)?),
                _ => None,
            })
            .collect();
        bytes.map(Word::Bytes).ok_or_else(|| {
            Error::invalid(format!("at character {at}: bytes are pairs of hexadecimal digits, as in x'00ff'"))
        })
    }

    fn number(&mut self) -> Result<Word> {
        let (start, at) = (self.rest, self.at);
        let sign = self.rest.starts_with(['-', '+']).then(|| self.skip(1));
        if sign.is_some() && self.rest.starts_with(starts_name) {
            let name = self.take_while(continues_name);
            if name.eq_ignore_ascii_case("inf") {
                let is_negative = sign == Some("-");
                return Ok(Word::Float(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY }));
            }
        }
        self.take_while(continues_name);
        if self.rest.starts_with(['-', '+']) && start[..start.len() - self.rest.len()].ends_with(['e', 'E']) {
            self.skip(1);
            self.take_while(continues_name);
        }
        let text = &start[..start.len() - self.rest.len()];
        let digits = text.replace('_', "");
        if let Ok(value) = digits.parse::<i128>() {
            return Ok(Word::Int(value));
        }
        let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
            && digits.contains(['.', 'e', 'E']);
        match digits.parse::<f64>() {
            Ok(value) if is_float && value.is_finite() => Ok(Word::Float(value)),
            Ok(_) => Err(Error::invalid(format!(
                "at character {at}: the number {} is too large for any datatype",
                shortened(text)
            ))),
            Err(_) => Err(Error::invalid(format!("at character {at}: {} is no number", shortened(text)))),
        }
    }
}
