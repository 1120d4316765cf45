//! What users say: conditions as flat trees.

use std::ops::Not;

/// How a field is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
}

impl Relation {
    /// The relation that holds exactly where this one does not, but for null and NaN.
    #[must_use]
    pub fn negated(self) -> Relation {
        match self {
            Relation::Lt => Relation::Ge,
            Relation::Le => Relation::Gt,
            Relation::Gt => Relation::Le,
            Relation::Ge => Relation::Lt,
            Relation::Eq => Relation::Ne,
            Relation::Ne => Relation::Eq,
        }
    }

    /// Whether it asks for an order, not only for equality.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Relation::Eq | Relation::Ne)
    }

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
            Relation::Eq => "==",
            Relation::Ne => "!=",
        }
    }
}

/// A value in a condition, before a schema says of which datatype it has to be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Literal {
    /// An integer, for numbers, dates and times, and codes of enumerations.
    Int(i128),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// Text, for text fields, labels, and dates and times in ISO 8601.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

macro_rules! literal_from {
    ($($t:ty => $variant:ident,)*) => {$(
        impl From<$t> for Literal {
            fn from(value: $t) -> Literal { Literal::$variant(value.into()) }
        }
    )*};
}
literal_from! {
    i8 => Int, i16 => Int, i32 => Int, i64 => Int, i128 => Int, u8 => Int, u16 => Int, u32 => Int, u64 => Int,
    f32 => Float, f64 => Float, bool => Bool, &str => Text, String => Text, &[u8] => Bytes, Vec<u8> => Bytes,
}

impl From<&String> for Literal {
    fn from(text: &String) -> Literal {
        Literal::Text(text.clone())
    }
}

impl<const N: usize> From<&[u8; N]> for Literal {
    fn from(bytes: &[u8; N]) -> Literal {
        Literal::Bytes(bytes.to_vec())
    }
}

/// A condition on the values of a cell's fields.
///
/// Made from comparisons that [`and`](Condition::and), [`or`](Condition::or) and [`not`](Condition::not) combine, or
/// parsed from text. Names and values are checked where the condition is used, against the schema there.
///
/// # The text form
///
/// ```
/// use smalti_query::condition::Condition;
///
/// let condition: Condition = "pop > 1_000_000 and country in ('FR', 'DE') and not (name is null)".parse()?;
/// assert_eq!(condition.to_string(), "pop > 1000000 and country in ('FR', 'DE') and not (name is null)");
///
/// let error = "pop >> 5".parse::<Condition>().unwrap_err();
/// assert_eq!(error.message(), "at character 6: found >, expected a value: a number, 'text', x'bytes', true or false");
/// # Ok::<(), smalti_types::Error>(())
/// ```
///
/// | | |
/// |---|---|
/// | `<` `<=` `>` `>=`, `==` or `=`, `!=` or `<>` | comparisons: the field on the left, a value on the right |
/// | `between 1 and 9`, `not between 1 and 9` | both ends included; bare dates are points in time, the start of their day |
/// | `in (1, 2)`, `not in ['a', 'b']` | sets, in parentheses or brackets |
/// | `like 'abc%'`, `not like 'abc%'` | text, or labels, that starts so, byte by byte; `\%`, `\_` and `\\` stand for themselves, and no other pattern is known |
/// | `is null`, `is not null` | nulls |
/// | `not`, then `and`, then `or`, and parentheses | from the tightest to the loosest; words in any case of letters |
/// | `pop`, `"a field"`, `` `a field` `` | fields: letters, digits, `_` and `.`, or quoted; a doubled quote stands for itself |
/// | `5`, `-1.5e3`, `inf`, `nan` | numbers; integers are exact |
/// | `'it''s'`, `'2024-02-29'` | text, labels of enumerations, dates and times |
/// | `x'00ff'` | bytes |
/// | `true`, `false` | for booleans; a boolean field alone, as in `flag and not other`, is `flag == true` |
/// | `code(color) == 2` | the code of an enumerated attribute instead of its label |
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a condition does nothing until a read or a delete has it"]
pub struct Condition {
    /// Each node behind its children; the last is the root.
    pub(super) nodes: Vec<Node>,
}

/// One node of a condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Compare {
        field: FieldName,
        relation: Relation,
        value: Literal,
    },
    Member {
        field: FieldName,
        members: Vec<Literal>,
        is_in: bool,
    },
    Null {
        field: FieldName,
        is_null: bool,
    },
    /// Text, or a label, that starts so.
    Prefix {
        field: FieldName,
        prefix: String,
        is_in: bool,
    },
    And(usize),
    Or(usize),
    Not,
}

/// What a test looks at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldName {
    pub(super) name: String,
    /// Codes instead of labels where the field is enumerated.
    pub(super) wants_codes: bool,
}

impl Node {
    pub(super) fn child_count(&self) -> usize {
        match self {
            Node::And(count) | Node::Or(count) => *count,
            Node::Not => 1,
            _ => 0,
        }
    }

    fn field_mut(&mut self) -> Option<&mut FieldName> {
        match self {
            Node::Compare { field, .. }
            | Node::Member { field, .. }
            | Node::Null { field, .. }
            | Node::Prefix { field, .. } => Some(field),
            Node::And(_) | Node::Or(_) | Node::Not => None,
        }
    }
}

impl From<&str> for FieldName {
    fn from(name: &str) -> FieldName {
        FieldName { name: name.to_owned(), wants_codes: false }
    }
}

impl Condition {
    /// The deepest nesting of a condition, and of parentheses and negations in its text.
    pub const MAX_DEPTH: usize = smalti_format::ConditionTree::MAX_DEPTH;
    /// The largest number of comparisons and combinations of a condition.
    pub const MAX_NODE_COUNT: usize = smalti_format::ConditionTree::MAX_NODE_COUNT;

    /// A condition from its text form, as `str::parse` gives it too.
    ///
    /// ```
    /// use smalti_query::condition::{Condition, Relation};
    /// assert_eq!(Condition::parse("pop > 5")?, Condition::compare("pop", Relation::Gt, 5));
    /// # Ok::<(), smalti_types::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument`, with the place, what was found there and what was expected.
    pub fn parse(text: &str) -> smalti_types::Result<Condition> {
        text.parse()
    }

    /// A field compared with a value.
    ///
    /// ```
    /// use smalti_query::condition::{Condition, Relation};
    /// assert_eq!(Condition::compare("pop", Relation::Gt, 5).to_string(), "pop > 5");
    /// ```
    pub fn compare(field: &str, relation: Relation, value: impl Into<Literal>) -> Condition {
        Condition::leaf(Node::Compare { field: field.into(), relation, value: value.into() })
    }

    /// A field in a set of values, or not in it. In an empty set there is nothing.
    pub fn member<V: Into<Literal>>(
        field: &str,
        members: impl IntoIterator<Item = V>,
        is_in: bool,
    ) -> Condition {
        let members = members.into_iter().map(Into::into).collect();
        Condition::leaf(Node::Member { field: field.into(), members, is_in })
    }

    /// A field that is null, or that is not.
    pub fn null(field: &str, is_null: bool) -> Condition {
        Condition::leaf(Node::Null { field: field.into(), is_null })
    }

    /// A field between two values, both included, or outside of them.
    ///
    /// ```
    /// use smalti_query::condition::Condition;
    /// assert_eq!(Condition::between("pop", 5, 9, true), "pop between 5 and 9".parse()?);
    /// assert_eq!(Condition::between("pop", 5, 9, true).to_string(), "pop >= 5 and pop <= 9");
    /// # Ok::<(), smalti_types::Error>(())
    /// ```
    pub fn between(
        field: &str,
        lo: impl Into<Literal>,
        hi: impl Into<Literal>,
        is_inside: bool,
    ) -> Condition {
        Condition::ends(field.into(), lo.into(), hi.into(), is_inside)
    }

    pub(super) fn ends(field: FieldName, lo: Literal, hi: Literal, is_inside: bool) -> Condition {
        let (above, below) =
            if is_inside { (Relation::Ge, Relation::Le) } else { (Relation::Lt, Relation::Gt) };
        let first = Condition::leaf(Node::Compare { field: field.clone(), relation: above, value: lo });
        let second = Condition::leaf(Node::Compare { field, relation: below, value: hi });
        if is_inside { first.and(second) } else { first.or(second) }
    }

    /// A field of text, or of labels, that starts with a text, or does not.
    ///
    /// ```
    /// use smalti_query::condition::Condition;
    /// assert_eq!(Condition::prefix("name", "St_", true).to_string(), "name like 'St\\_%'");
    /// ```
    pub fn prefix(field: &str, prefix: impl Into<String>, is_in: bool) -> Condition {
        Condition::leaf(Node::Prefix { field: field.into(), prefix: prefix.into(), is_in })
    }

    pub(super) fn leaf(node: Node) -> Condition {
        Condition { nodes: vec![node] }
    }

    /// Both hold.
    ///
    /// ```
    /// use smalti_query::condition::Condition;
    /// let named = Condition::null("name", false);
    /// assert_eq!(named.and("pop > 5".parse()?).to_string(), "name is not null and pop > 5");
    /// # Ok::<(), smalti_types::Error>(())
    /// ```
    pub fn and(self, other: Condition) -> Condition {
        self.combine(other, Node::And)
    }

    /// At least one holds.
    pub fn or(self, other: Condition) -> Condition {
        self.combine(other, Node::Or)
    }

    /// Chains of one operator are one node, as in libtiledb.
    fn combine(mut self, mut other: Condition, node: fn(usize) -> Node) -> Condition {
        let mut count = 0;
        for side in [&mut self, &mut other] {
            count += match (node(0), side.nodes.last()) {
                (Node::And(_), Some(&Node::And(children))) | (Node::Or(_), Some(&Node::Or(children))) => {
                    side.nodes.pop();
                    children
                }
                _ => 1,
            };
        }
        self.nodes.append(&mut other.nodes);
        self.nodes.push(node(count));
        self
    }

    /// It does not hold, and is known not to: null cells fulfil neither a comparison nor its negation. `!condition`
    /// is the same.
    #[allow(
        clippy::should_implement_trait,
        reason = "the trait is implemented too; chains read better with a method"
    )]
    pub fn not(mut self) -> Condition {
        self.nodes.push(Node::Not);
        self
    }

    /// The same tests on codes instead of labels, wherever they are on enumerated attributes.
    pub fn of_codes(mut self) -> Condition {
        self.nodes.iter_mut().filter_map(Node::field_mut).for_each(|field| field.wants_codes = true);
        self
    }

    /// The number of nodes of the subtree that ends at each node.
    pub(super) fn spans(&self) -> Vec<usize> {
        let mut spans: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (idx, node) in self.nodes.iter().enumerate() {
            let mut span = 1;
            for _ in 0..node.child_count() {
                span += spans[idx - span];
            }
            spans.push(span);
        }
        spans
    }

    /// The roots of the children of a node, from the last to the first.
    pub(super) fn children(&self, idx: usize, spans: &[usize]) -> impl Iterator<Item = usize> {
        let mut next = idx;
        (0..self.nodes[idx].child_count()).map(move |_| {
            let child = next - 1;
            next = child + 1 - spans[child];
            child
        })
    }
}

impl Not for Condition {
    type Output = Condition;

    fn not(self) -> Condition {
        Condition::not(self)
    }
}
