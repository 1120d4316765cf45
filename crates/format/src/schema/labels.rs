//! Dimension labels: the arrays that hold them.

use super::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, default_fill_value,
};
use crate::names::{LABELS_FOLDER, is_plain};
use smalti_types::{ArrayType, CellValNum, Datatype, Error, Filter, FilterPipeline, Layout, Result};

/// The reference's name for the attribute that holds labels.
const LABEL_ATTRIBUTE: &str = "label";

/// The reference's name for the dimension of a label's array.
const INDEX_DIMENSION: &str = "index";

impl DimensionLabel {
    /// A label of an array's own, for the positions on a dimension. Its URI is that of the first label; a schema gives each
    /// the URI of its place when it [takes](ArraySchema::add_label) it.
    pub fn new(name: impl Into<String>, dimension_idx: u32, datatype: Datatype, order: DataOrder) -> Self {
        DimensionLabel {
            dimension_idx,
            name: name.into(),
            uri_is_relative: true,
            uri: label_uri(0),
            attribute: LABEL_ATTRIBUTE.into(),
            order,
            datatype,
            cell_val_num: if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE },
            is_external: false,
        }
    }

    /// The path of the label's array below its array.
    ///
    /// # Errors
    /// `Unsupported` for a label outside the array; `Corrupt` for a URI that leads anywhere but into the folder of labels: a
    /// name from a file never forms a path of its own.
    pub fn path(&self) -> Result<&str> {
        if self.is_external || !self.uri_is_relative {
            return Err(Error::unsupported(format!("the label {:?} lies outside the array", self.name)));
        }
        let folder = self.uri.trim_end_matches('/');
        let below = folder.strip_prefix(LABELS_FOLDER).and_then(|rest| rest.strip_prefix('/'));
        match below {
            Some(name) if is_plain(name) && !name.contains('\\') => Ok(folder),
            _ => Err(Error::corrupt(format!("{:?} is no place of a dimension label", self.uri))
                .in_field("dimension label", "uri")),
        }
    }

    /// The label's values as the coordinates of a dimension without bounds: for ranges of labels.
    pub fn as_dimension(&self) -> Dimension {
        Dimension {
            name: self.name.clone(),
            datatype: self.datatype,
            cell_val_num: self.cell_val_num,
            filters: FilterPipeline::default(),
            domain: None,
            tile_extent: None,
        }
    }
}

fn label_uri(idx: usize) -> String {
    format!("{LABELS_FOLDER}/l{idx}")
}

impl ArraySchema {
    /// The dimension label of a name.
    pub fn label(&self, name: &str) -> Option<&DimensionLabel> {
        self.dimension_labels.iter().find(|label| label.name == name)
    }

    /// Takes a label behind the others, at the place where the reference would put it.
    pub fn add_label(&mut self, label: DimensionLabel) {
        let uri = label_uri(self.dimension_labels.len());
        self.dimension_labels.push(DimensionLabel { uri, ..label });
    }

    /// The schema of a label's array as the reference makes it: one dimension as long as that of the label, with its tiles, and
    /// one ordered attribute.
    ///
    /// # Errors
    /// `InvalidArgument` when the label's dimension is not there.
    pub fn label_array(&self, label: &DimensionLabel) -> Result<ArraySchema> {
        let dimension = self.dimensions.get(label.dimension_idx as usize).ok_or_else(|| {
            Error::invalid(format!(
                "the label {:?} is for dimension {}; there are {}",
                label.name,
                label.dimension_idx,
                self.dimensions.len()
            ))
        })?;
        let index = Dimension {
            name: INDEX_DIMENSION.into(),
            filters: FilterPipeline::default(),
            ..dimension.clone()
        };
        let attribute = Attribute {
            name: label.attribute.clone(),
            datatype: label.datatype,
            cell_val_num: label.cell_val_num,
            filters: FilterPipeline::default(),
            fill_value: default_fill_value(label.datatype, label.cell_val_num),
            nullable: false,
            fill_valid: false,
            order: label.order,
            enumeration: None,
        };
        let mut schema = ArraySchema {
            version: self.version,
            allows_dups: false,
            array_type: ArrayType::Dense,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: 10_000,
            coords_filters: FilterPipeline::new([Filter::Zstd { level: -1 }]),
            offsets_filters: FilterPipeline::new([Filter::Zstd { level: -1 }]),
            validity_filters: FilterPipeline::new([Filter::Rle { level: -1 }]),
            dimensions: vec![index],
            attributes: vec![attribute],
            dimension_labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: CurrentDomain::Empty,
        };
        schema.fill_absent_extents();
        Ok(schema)
    }

    /// Checks that an array can hold a label, by the reference's rules.
    ///
    /// # Errors
    /// `InvalidArgument` names what does not fit.
    pub fn check_label_array(&self, label: &DimensionLabel, array: &ArraySchema) -> Result<()> {
        let bad = |what: String| {
            Err(Error::invalid(format!("the array of the dimension label {:?}: {what}", label.name)))
        };
        let dimension = self.dimensions.get(label.dimension_idx as usize);
        let ([index], Some(dimension)) = (array.dimensions.as_slice(), dimension) else {
            return bad(format!("it has {} dimensions, not one", array.dimensions.len()));
        };
        if index.datatype != dimension.datatype {
            return bad(format!(
                "its dimension is of type {}, that of the label of type {}",
                index.datatype, dimension.datatype
            ));
        }
        let Some((_, attribute)) = array.attribute(&label.attribute) else {
            return bad(format!("it has no attribute {:?}", label.attribute));
        };
        let own = (attribute.datatype, attribute.cell_val_num, attribute.order);
        if own != (label.datatype, label.cell_val_num, label.order) {
            return bad(format!(
                "its attribute is of type {} and {:?}, the label of type {} and {:?}",
                attribute.datatype, attribute.order, label.datatype, label.order
            ));
        }
        if !array.is_dense() {
            return bad("it is sparse".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::tests::{dimension, schema};
    use super::*;

    #[test]
    fn the_array_of_a_label_is_that_of_the_reference() {
        let mut schema = schema(vec![dimension("y", Datatype::Int32, (1, 10), 4)]);
        schema.add_label(DimensionLabel::new("lat", 0, Datatype::Float64, DataOrder::Increasing));
        schema.add_label(DimensionLabel::new("name", 0, Datatype::StringAscii, DataOrder::Decreasing));
        schema.check().unwrap();
        assert_eq!(schema.dimension_labels[1].path().unwrap(), "__labels/l1");
        for label in &schema.dimension_labels {
            let array = schema.label_array(label).unwrap();
            array.check().unwrap();
            schema.check_label_array(label, &array).unwrap();
            assert_eq!(array.dimensions[0].extent_len(), Some(4));
        }
        let (lat, name) = (&schema.dimension_labels[0], &schema.dimension_labels[1]);
        let other = schema.label_array(name).unwrap();
        assert!(schema.check_label_array(lat, &other).unwrap_err().to_string().contains("\"lat\""));
    }

    #[test]
    fn labels_lie_in_their_folder() {
        let label = |uri: &str| DimensionLabel {
            uri: uri.into(),
            ..DimensionLabel::new("lat", 0, Datatype::Float64, DataOrder::Increasing)
        };
        assert!(label("__labels/l0/").path().is_ok());
        for uri in
            ["l0", "__labels", "__labels/", "__labels/..", "__labels/a/b", "/__labels/l0", "__schema/l0"]
        {
            assert!(label(uri).path().is_err(), "{uri}");
        }
    }
}
