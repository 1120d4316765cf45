//! Which datatypes and filters the libraries of a format version know.
//!
//! They came without a change of any field: the schema merely holds a number that older libraries do not know, and they
//! refuse the whole array. An array that is made for such libraries must do without.

use super::{ArraySchema, Field};
use crate::{Rule, Version};
use smalti_types::{Datatype, Error, Filter, Result};

impl ArraySchema {
    /// Checks that libraries of the schema's own version know every datatype and filter in it.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the field, what is unknown, and the first version that has it.
    pub(super) fn check_vocabulary(&self) -> Result<()> {
        for field in self.fields() {
            let lacks = |what: String, rule: Rule| {
                Err(self.lacking(format_args!("field {:?}: {what}", field.name()), rule))
            };
            if let Some(rule) = datatype_rule(field.datatype()).filter(|rule| !self.version.has(*rule)) {
                return lacks(format!("type {}", field.datatype()), rule);
            }
            if let Some((filter, rule)) = unknown_filter(field_filters(field), self.version) {
                return lacks(format!("filter {filter}"), rule);
            }
            let has_dictionary =
                field_filters(field).iter().any(|filter| matches!(filter, Filter::Dictionary { .. }));
            let utf8 = Rule::Utf8HoldsOffsets;
            if has_dictionary && field.datatype() == Datatype::StringUtf8 && !self.version.has(utf8) {
                return lacks("filter dictionary on STRING_UTF8".into(), utf8);
            }
        }
        let shared = [
            ("coords_filters", &self.coords_filters),
            ("offsets_filters", &self.offsets_filters),
            ("validity_filters", &self.validity_filters),
        ];
        for (list, pipeline) in shared {
            if let Some((filter, rule)) = unknown_filter(&pipeline.filters, self.version) {
                return Err(self.lacking(format_args!("{list}: filter {filter}"), rule));
            }
        }
        Ok(())
    }

    fn lacking(&self, what: std::fmt::Arguments<'_>, rule: Rule) -> Error {
        Error::invalid(format!(
            "{what} is unknown to libraries of format version {}; take version {} or newer",
            self.version,
            rule.span().from
        ))
    }
}

/// The rule under which a datatype exists; `None` for those that every version has.
fn datatype_rule(datatype: Datatype) -> Option<Rule> {
    match datatype {
        Datatype::Bool => Some(Rule::BoolDatatype),
        Datatype::GeomWkb | Datatype::GeomWkt => Some(Rule::GeometryDatatypes),
        _ => None,
    }
}

fn field_filters(field: Field<'_>) -> &[Filter] {
    match field {
        Field::Dimension(_, dimension) => &dimension.filters.filters,
        Field::Attribute(_, attribute) => &attribute.filters.filters,
    }
}

/// The first filter that a version does not know, with the rule under which it exists.
fn unknown_filter(filters: &[Filter], version: Version) -> Option<(&Filter, Rule)> {
    let mut with_rules = filters.iter().filter_map(|filter| Some((filter, filter_rule(filter)?)));
    with_rules.find(|(_, rule)| !version.has(*rule))
}

fn filter_rule(filter: &Filter) -> Option<Rule> {
    match filter {
        Filter::Dictionary { .. } => Some(Rule::DictionaryFilter),
        Filter::ScaleFloat(_) => Some(Rule::ScaleFloatFilter),
        Filter::Xor => Some(Rule::XorFilter),
        Filter::Webp { .. } => Some(Rule::WebpFilter),
        Filter::Delta { .. } => Some(Rule::DeltaFilter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::tests::{dimension, schema};
    use super::*;

    fn complaint(version: u32, change: impl Fn(&mut ArraySchema)) -> Option<String> {
        let mut schema = schema(vec![dimension("d", Datatype::Int32, (1, 10), 4)]);
        schema.version = Version::new(version).unwrap();
        change(&mut schema);
        schema.check_vocabulary().err().map(|error| error.to_string())
    }

    #[test]
    fn a_datatype_that_came_later_is_refused_by_name_with_its_first_version() {
        let booleans = |schema: &mut ArraySchema| schema.attributes[0].datatype = Datatype::Bool;
        let refusal = complaint(13, booleans).unwrap();
        for word in ["\"a\"", "BOOL", "13", "14"] {
            assert!(refusal.contains(word), "{refusal}");
        }
        assert_eq!(complaint(14, booleans), None);
        let shapes = |schema: &mut ArraySchema| schema.attributes[0].datatype = Datatype::GeomWkt;
        assert!(complaint(20, shapes).is_some());
        assert_eq!(complaint(21, shapes), None);
    }

    #[test]
    fn a_dictionary_of_utf8_came_after_that_of_ascii() {
        let words = |datatype| {
            move |schema: &mut ArraySchema| {
                schema.attributes[0].datatype = datatype;
                schema.attributes[0].filters.filters.push(Filter::Dictionary { level: -1 });
            }
        };
        assert_eq!(complaint(13, words(Datatype::StringAscii)), None);
        assert!(complaint(16, words(Datatype::StringUtf8)).unwrap().contains("17"));
        assert_eq!(complaint(17, words(Datatype::StringUtf8)), None);
        assert!(complaint(12, words(Datatype::StringAscii)).unwrap().contains("13"));
    }

    #[test]
    fn a_filter_that_came_later_is_refused_wherever_it_stands() {
        let on_attribute = |schema: &mut ArraySchema| schema.attributes[0].filters.filters.push(Filter::Xor);
        assert!(complaint(15, on_attribute).unwrap().contains("\"a\""));
        assert_eq!(complaint(16, on_attribute), None);
        let on_dimension = |schema: &mut ArraySchema| schema.dimensions[0].filters.filters.push(Filter::Xor);
        assert!(complaint(15, on_dimension).unwrap().contains("\"d\""));
        let delta = Filter::Delta { level: -1, reinterpret: None };
        let on_offsets = |schema: &mut ArraySchema| schema.offsets_filters.filters.push(delta);
        assert!(complaint(18, on_offsets).unwrap().contains("offsets_filters"));
        assert_eq!(complaint(19, on_offsets), None);
    }
}
