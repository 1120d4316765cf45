//! Conditions as text that parses back.

use super::parse::{escaped, is_bare_name};
use super::tree::{Condition, FieldName, Literal, Node};
use std::fmt;

/// What is still to be written, the next on top.
enum Piece {
    Subtree(usize),
    Text(&'static str),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = self.spans();
        let mut pieces = vec![Piece::Subtree(self.nodes.len() - 1)];
        while let Some(piece) = pieces.pop() {
            let idx = match piece {
                Piece::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Piece::Subtree(idx) => idx,
            };
            let (word, in_parentheses): (_, fn(&Node) -> bool) = match &self.nodes[idx] {
                Node::And(_) => (" and ", |child| matches!(child, Node::And(_) | Node::Or(_))),
                Node::Or(_) => (" or ", |child| matches!(child, Node::Or(_))),
                Node::Not => ("", |_| true),
                leaf => {
                    write_leaf(f, leaf)?;
                    continue;
                }
            };
            if matches!(self.nodes[idx], Node::Not) {
                f.write_str("not ")?;
            }
            for (place, child) in self.children(idx, &spans).enumerate() {
                if place > 0 {
                    pieces.push(Piece::Text(word));
                }
                if in_parentheses(&self.nodes[child]) {
                    pieces.extend([Piece::Text(")"), Piece::Subtree(child), Piece::Text("(")]);
                } else {
                    pieces.push(Piece::Subtree(child));
                }
            }
        }
        Ok(())
    }
}

fn write_leaf(f: &mut fmt::Formatter<'_>, leaf: &Node) -> fmt::Result {
    match leaf {
        Node::Compare { field, relation, value } => write!(f, "{field} {} {value}", relation.symbol()),
        Node::Member { field, members, is_in } => {
            write!(f, "{field} {}in (", if *is_in { "" } else { "not " })?;
            for (place, member) in members.iter().enumerate() {
                write!(f, "{}{member}", if place > 0 { ", " } else { "" })?;
            }
            f.write_str(")")
        }
        Node::Null { field, is_null } => write!(f, "{field} is {}null", if *is_null { "" } else { "not " }),
        Node::Prefix { field, prefix, is_in } => {
            let pattern = Literal::Text(escaped(prefix) + "%");
            write!(f, "{field} {}like {pattern}", if *is_in { "" } else { "not " })
        }
        Node::And(_) | Node::Or(_) | Node::Not => Ok(()),
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = if self.wants_codes { ("code(", ")") } else { ("", "") };
        if is_bare_name(&self.name) {
            write!(f, "{start}{}{end}", self.name)
        } else {
            write!(f, "{start}\"{}\"{end}", self.name.replace('"', "\"\""))
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Float(value) if value.is_nan() => f.write_str("nan"),
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Literal::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}
