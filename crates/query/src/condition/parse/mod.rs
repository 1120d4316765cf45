//! The text form of conditions, read without recursion.

mod pattern;
mod words;

use super::tree::{Condition, FieldName, Literal, Node, Relation};
use pattern::Pattern;
pub(super) use pattern::escaped;
use smalti_types::{Error, Result};
use std::str::FromStr;
pub(super) use words::is_bare_name;
use words::{Keyword, Word, Words};

const VALUE: &str = "a value: a number, 'text', x'bytes', true or false";
const OPERATOR: &str = "<, <=, >, >=, ==, !=, between, like, in, not in or is";

/// `between` and `like` are words of the language behind a field only, so that fields may have these names.
fn is_between(name: &str) -> bool {
    name.eq_ignore_ascii_case("between")
}

fn is_like(name: &str) -> bool {
    name.eq_ignore_ascii_case("like")
}

/// What waits for its right side; parentheses with their place in the text.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Or,
    And,
    Not,
    Parenthesis(usize),
}

impl Open {
    /// How tightly it binds; of a parenthesis, not at all.
    fn rank(self) -> u8 {
        match self {
            Open::Parenthesis(_) => 0,
            Open::Or => 1,
            Open::And => 2,
            Open::Not => 3,
        }
    }
}

impl FromStr for Condition {
    type Err = Error;

    /// Reads the text form.
    ///
    /// # Errors
    /// `InvalidArgument`, with the place, what was found there and what was expected.
    fn from_str(text: &str) -> Result<Condition> {
        let mut parser =
            Parser { words: Words::new(text), open: Vec::new(), depth: 0, done: Vec::new(), node_count: 0 };
        parser.condition()
    }
}

/// Dijkstra's shunting yard: operators wait on one stack, finished conditions on another.
struct Parser<'t> {
    words: Words<'t>,
    open: Vec<Open>,
    /// Parentheses and negations that are open.
    depth: usize,
    done: Vec<Condition>,
    node_count: usize,
}

impl Parser<'_> {
    fn condition(&mut self) -> Result<Condition> {
        loop {
            self.operand()?;
            if !self.after_operand()? {
                break;
            }
        }
        self.close(0);
        if let Some(Open::Parenthesis(at)) = self.open.last() {
            let end = self.words.next()?;
            return Err(end.unexpected(format_args!("and, or, or the ) that closes the ( at character {at}")));
        }
        match self.done.pop() {
            Some(condition) => Ok(condition),
            None => Err(Error::invalid("the condition is empty")),
        }
    }

    /// Reads negations and opening parentheses, then one test.
    fn operand(&mut self) -> Result<()> {
        loop {
            let found = self.words.next()?;
            let field = match found.word {
                Word::Keyword(Keyword::Not) => {
                    self.push(Open::Not, found.at)?;
                    continue;
                }
                Word::Open => {
                    self.push(Open::Parenthesis(found.at), found.at)?;
                    continue;
                }
                Word::Bare(ref name) if name.eq_ignore_ascii_case("code") && self.words.peek_open() => {
                    self.words.next()?;
                    let name = self.field_name()?;
                    let close = self.words.next()?;
                    if close.word != Word::Close {
                        return Err(close.unexpected(")"));
                    }
                    FieldName { name, wants_codes: true }
                }
                Word::Bare(name) | Word::Quoted(name) => FieldName { name, wants_codes: false },
                Word::Text(_) | Word::Int(_) | Word::Float(_) | Word::Bytes(_) => {
                    return Err(found.unexpected(
                        "a field; values come behind the operator, fields are bare or \"quoted\"",
                    ));
                }
                _ => return Err(found.unexpected("a field, not or (")),
            };
            let test = self.test(field)?;
            for _ in 0..test.nodes.len() {
                self.count(found.at)?;
            }
            self.done.push(test);
            return Ok(());
        }
    }

    fn field_name(&mut self) -> Result<String> {
        let found = self.words.next()?;
        match found.word {
            Word::Bare(name) | Word::Quoted(name) => Ok(name),
            _ => Err(found.unexpected("a field")),
        }
    }

    fn test(&mut self, field: FieldName) -> Result<Condition> {
        if self.words.peek()?.word.ends_test() {
            let value = Literal::Bool(true);
            return Ok(Condition::leaf(Node::Compare { field, relation: Relation::Eq, value }));
        }
        let found = self.words.next()?;
        let node = match found.word {
            Word::Relation(relation) => self.comparison(field, relation),
            Word::Keyword(Keyword::In) => self.members(field, true),
            Word::Keyword(Keyword::Not) => {
                let found = self.words.next()?;
                match found.word {
                    Word::Keyword(Keyword::In) => self.members(field, false),
                    Word::Bare(ref name) if is_between(name) => return self.between(field, false),
                    Word::Bare(ref name) if is_like(name) => self.like(field, false),
                    _ => Err(found.unexpected("in, between or like")),
                }
            }
            Word::Bare(ref name) if is_between(name) => return self.between(field, true),
            Word::Bare(ref name) if is_like(name) => self.like(field, true),
            Word::Keyword(Keyword::Is) => {
                let mut found = self.words.next()?;
                let is_null = found.word != Word::Keyword(Keyword::Not);
                if !is_null {
                    found = self.words.next()?;
                }
                match found.word {
                    Word::Keyword(Keyword::Null) => Ok(Node::Null { field, is_null }),
                    _ => Err(found.unexpected(if is_null { "null or not null" } else { "null" })),
                }
            }
            _ => Err(found.unexpected(OPERATOR)),
        };
        node.map(Condition::leaf)
    }

    /// Two comparisons, so that nothing behind the parser knows a third kind of order.
    fn between(&mut self, field: FieldName, is_inside: bool) -> Result<Condition> {
        let lo = self.value()?;
        let found = self.words.next()?;
        if found.word != Word::Keyword(Keyword::And) {
            return Err(found.unexpected("and, and the upper end"));
        }
        let hi = self.value()?;
        Ok(Condition::ends(field, lo, hi, is_inside))
    }

    fn like(&mut self, field: FieldName, is_like: bool) -> Result<Node> {
        let found = self.words.next()?;
        let Word::Text(pattern) = &found.word else {
            return Err(found.unexpected("the start of a text and %, in single quotes, as in 'abc%'"));
        };
        let node = match Pattern::parse(pattern) {
            Ok(Pattern::Prefix(prefix)) => Node::Prefix { field, prefix, is_in: is_like },
            Ok(Pattern::Whole(text)) => {
                let relation = if is_like { Relation::Eq } else { Relation::Ne };
                Node::Compare { field, relation, value: Literal::Text(text) }
            }
            Err(problem) => {
                return Err(Error::invalid(format!("at character {}: {problem}", found.at)));
            }
        };
        Ok(node)
    }

    fn comparison(&mut self, field: FieldName, relation: Relation) -> Result<Node> {
        Ok(Node::Compare { field, relation, value: self.value()? })
    }

    fn value(&mut self) -> Result<Literal> {
        let found = self.words.next()?;
        Ok(match found.word {
            Word::Int(value) => Literal::Int(value),
            Word::Float(value) => Literal::Float(value),
            Word::Text(text) => Literal::Text(text),
            Word::Bytes(bytes) => Literal::Bytes(bytes),
            Word::Keyword(Keyword::True) => Literal::Bool(true),
            Word::Keyword(Keyword::False) => Literal::Bool(false),
            Word::Bare(ref name) if name.eq_ignore_ascii_case("nan") => Literal::Float(f64::NAN),
            Word::Bare(ref name) if name.eq_ignore_ascii_case("inf") => Literal::Float(f64::INFINITY),
            Word::Keyword(Keyword::Null) => {
                return Err(found.unexpected("a value; for nulls write is null or is not null"));
            }
            Word::Bare(_) => {
                return Err(found.unexpected(format_args!("{VALUE}; text is written in 'single quotes'")));
            }
            Word::Quoted(_) => {
                return Err(found
                    .unexpected("a value; text is written in 'single quotes', other quotes are for fields"));
            }
            _ => return Err(found.unexpected(VALUE)),
        })
    }

    fn members(&mut self, field: FieldName, is_in: bool) -> Result<Node> {
        let open = self.words.next()?;
        let (close, closing) = match open.word {
            Word::Open => (Word::Close, ", or )"),
            Word::OpenBracket => (Word::CloseBracket, ", or ]"),
            _ => return Err(open.unexpected("( or [ and the members of the set")),
        };
        let mut members = Vec::new();
        if self.words.peek()?.word == close {
            self.words.next()?;
            return Ok(Node::Member { field, members, is_in });
        }
        loop {
            members.push(self.value()?);
            let found = self.words.next()?;
            match found.word {
                Word::Comma => {}
                word if word == close => return Ok(Node::Member { field, members, is_in }),
                _ => return Err(found.unexpected(closing)),
            }
        }
    }

    /// Reads what joins a test to the next; `false` at the end of the text.
    fn after_operand(&mut self) -> Result<bool> {
        loop {
            let found = self.words.peek()?;
            let operator = match found.word {
                Word::Keyword(Keyword::And) => Open::And,
                Word::Keyword(Keyword::Or) => Open::Or,
                Word::Close => {
                    self.close(0);
                    match self.open.pop() {
                        Some(Open::Parenthesis(_)) => self.depth -= 1,
                        _ => return Err(found.unexpected("and, or, or the end; no parenthesis is open")),
                    }
                    self.words.next()?;
                    continue;
                }
                Word::End => return Ok(false),
                _ => return Err(found.unexpected("and, or, or the end")),
            };
            let at = found.at;
            self.words.next()?;
            self.close(operator.rank() - 1);
            self.count(at)?;
            self.open.push(operator);
            return Ok(true);
        }
    }

    fn push(&mut self, open: Open, at: usize) -> Result<()> {
        self.depth += 1;
        if self.depth > Condition::MAX_DEPTH {
            return Err(Error::invalid(format!(
                "at character {at}: parentheses and negations are nested deeper than {} levels",
                Condition::MAX_DEPTH
            )));
        }
        self.open.push(open);
        Ok(())
    }

    fn count(&mut self, at: usize) -> Result<()> {
        self.node_count += 1;
        if self.node_count > Condition::MAX_NODE_COUNT {
            return Err(Error::invalid(format!(
                "at character {at}: the condition has more than {} parts",
                Condition::MAX_NODE_COUNT
            )));
        }
        Ok(())
    }

    /// Finishes the operators that bind tighter than `rank`. Each has its operands: they were read before.
    fn close(&mut self, rank: u8) {
        while let Some(&open) = self.open.last() {
            if open.rank() <= rank {
                return;
            }
            let Some(right) = self.done.pop() else { return };
            self.open.pop();
            let joined = match open {
                Open::Not => {
                    self.depth -= 1;
                    right.not()
                }
                Open::And | Open::Or => {
                    let Some(left) = self.done.pop() else { return };
                    if open == Open::And { left.and(right) } else { left.or(right) }
                }
                Open::Parenthesis(_) => return,
            };
            self.done.push(joined);
        }
    }
}
