//! Evolutions of schemas, put together before an array takes them.

use super::current_domain::CurrentDomainHandle;
use super::enumeration::EnumerationHandle;
use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{In, New, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use smalti::format::{Attribute, Enumeration};
use smalti::{Array, SchemaChange};

/// What is going to change.
#[derive(Debug, Default)]
pub(crate) struct EvolutionHandle {
    change: SchemaChange,
    extended: Vec<Enumeration>,
    current_domain: Option<CurrentDomainHandle>,
}

kinds! { EvolutionHandle => "array schema evolution" }

const ORIGIN: &str = "ArraySchemaEvolution";

impl EvolutionHandle {
    /// Changes the schema of an array.
    pub(crate) fn apply(&self, array: &Array) -> Fallible<()> {
        let mut schema = super::SchemaHandle::of_array(array);
        let mut change = self.change.clone();
        for name in &change.drop_attributes {
            if schema.attribute(name).is_err() {
                return fail(
                    ORIGIN,
                    "Cannot drop attribute; Input attribute name refers to a dimension or does not exist",
                );
            }
        }
        // The texts of what does not fit are those of schemas that are put together.
        let mut wanted = schema.clone();
        change.add_enumerations.iter().try_for_each(|item| wanted.add_enumeration(item.clone()))?;
        wanted.schema.attributes.retain(|item| !change.drop_attributes.contains(&item.name));
        change.add_attributes.iter().try_for_each(|item| wanted.add_attribute(item.clone()))?;
        for name in &change.drop_enumerations {
            let uses = |item: &&Attribute| item.enumeration.as_ref() == Some(name);
            if let Some(user) = wanted.schema.attributes.iter().find(uses) {
                return fail(
                    "ArraySchema",
                    format!(
                        "Unable to drop enumeration '{name}' as it is used by attribute '{}'.",
                        user.name
                    ),
                );
            }
        }
        for item in &self.extended {
            let more = schema.extended(item)?;
            change.extend_enumerations.push((item.name.clone(), more));
        }
        if let Some(rectangle) = self.current_domain.as_ref().and_then(|current| current.0.as_ref()) {
            let sides = rectangle.dimensions.iter().zip(&rectangle.sides);
            let sides = sides.filter_map(|(dimension, side)| Some((dimension.name.clone(), side.clone()?)));
            change.current_domain = sides.collect();
        }
        change.may_be_past = true;
        array.evolve_raw(&change).map(|_| ()).map_err(Failure::of(ORIGIN))
    }
}

entries! {
    fn tiledb_array_schema_evolution_alloc(ctx, evolution: New<EvolutionHandle>) {
        evolution.put(EvolutionHandle::default())
    }

    fn tiledb_array_schema_evolution_add_attribute(
        ctx,
        evolution: In<EvolutionHandle>,
        attribute: In<Attribute>,
    ) {
        let attribute = attribute.read()?.clone();
        let mut evolution = evolution.write()?;
        if evolution.change.add_attributes.iter().any(|other| other.name == attribute.name) {
            return fail(ORIGIN, "Cannot add attribute; Input attribute name is already there");
        }
        evolution.change.add_attributes.push(attribute);
        Ok(())
    }

    fn tiledb_array_schema_evolution_drop_attribute(
        ctx,
        evolution: In<EvolutionHandle>,
        attribute_name: Text,
    ) {
        let name = attribute_name.get("attribute_name")?;
        let mut evolution = evolution.write()?;
        evolution.change.add_attributes.retain(|attribute| attribute.name != name);
        if !evolution.change.drop_attributes.iter().any(|other| other == name) {
            evolution.change.drop_attributes.push(name.to_owned());
        }
        Ok(())
    }

    fn tiledb_array_schema_evolution_add_enumeration(
        ctx,
        evolution: In<EvolutionHandle>,
        enumeration: In<EnumerationHandle>,
    ) {
        let enumeration = enumeration.read()?.clone();
        let mut evolution = evolution.write()?;
        if evolution.change.add_enumerations.iter().any(|other| other.name == enumeration.name) {
            return fail(ORIGIN, "Cannot add enumeration; Input enumeration name is already added");
        }
        evolution.change.add_enumerations.push(enumeration);
        Ok(())
    }

    fn tiledb_array_schema_evolution_extend_enumeration(
        ctx,
        evolution: In<EvolutionHandle>,
        enumeration: In<EnumerationHandle>,
    ) {
        let enumeration = enumeration.read()?.clone();
        let mut evolution = evolution.write()?;
        if evolution.extended.iter().any(|other| other.name == enumeration.name) {
            return fail(
                ORIGIN,
                "Cannot extend enumeration; Input enumeration name has already been extended in this evolution.",
            );
        }
        evolution.extended.push(enumeration);
        Ok(())
    }

    fn tiledb_array_schema_evolution_drop_enumeration(
        ctx,
        evolution: In<EvolutionHandle>,
        enumeration_name: Text,
    ) {
        let name = enumeration_name.get("enumeration_name")?;
        let mut evolution = evolution.write()?;
        evolution.change.add_enumerations.retain(|enumeration| enumeration.name != name);
        evolution.change.drop_enumerations.push(name.to_owned());
        Ok(())
    }

    fn tiledb_array_schema_evolution_set_timestamp_range(
        ctx,
        evolution: In<EvolutionHandle>,
        lo: u64,
        hi: u64,
    ) {
        if lo != hi {
            let words = format!("first element {lo} and second element {hi} are not equal!");
            return fail(ORIGIN, format!("Cannot set timestamp range; {words}"));
        }
        evolution.write()?.change.at = Some(lo);
        Ok(())
    }

    fn tiledb_array_schema_evolution_expand_current_domain(
        ctx,
        evolution: In<EvolutionHandle>,
        expanded_domain: In<CurrentDomainHandle>,
    ) {
        let expanded = expanded_domain.read()?.clone();
        if expanded.0.is_none() {
            return fail(
                ORIGIN,
                "Unable to expand the array current domain, the new current domain specified is empty",
            );
        }
        evolution.write()?.current_domain = Some(expanded);
        Ok(())
    }
}

free_entries! { tiledb_array_schema_evolution_free: EvolutionHandle }
