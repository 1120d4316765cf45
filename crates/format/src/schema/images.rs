//! WebP attributes: each tile is one image, so the schema must make tiles that are images.
//!
//! Specification: `filters/webp.md`. The first dimension counts rows, the second the colour channels of the pixels
//! along a row. Writers keep the extents of a tile in the options of the filter.

use super::{ArraySchema, Attribute};
use smalti_types::{CellValNum, Datatype, Error, Filter, FilterPipeline, Result};

/// The most rows, and the most pixels in a row, of a WebP image.
const MAX_IMAGE_EXTENT: u64 = 16_383;

impl ArraySchema {
    /// The schema as it is stored: WebP filters of attributes know rows and row length of their tiles.
    pub fn with_image_extents(mut self) -> ArraySchema {
        let extents = self.image_extents();
        for attribute in &mut self.attributes {
            set_extents(&mut attribute.filters, extents);
        }
        self
    }

    /// The pipeline of an attribute with the extents of its tiles in its WebP filter; `None` when it has no such filter.
    ///
    /// The extents on disk are not asked: the reference leaves those of all but the last attribute at 0.
    pub fn image_filters(&self, attribute: &Attribute) -> Option<FilterPipeline> {
        if !has_images(&attribute.filters) {
            return None;
        }
        let mut filters = attribute.filters.clone();
        set_extents(&mut filters, self.image_extents());
        Some(filters)
    }

    /// Rows of a tile and values in a row, where tiles can be images.
    fn image_extents(&self) -> Option<(u16, u16)> {
        let [rows, columns] = self.dimensions.as_slice() else { return None };
        let extent = |extent: Option<u64>| u16::try_from(extent?).ok();
        Some((extent(rows.extent_len())?, extent(columns.extent_len())?))
    }

    /// Checks attributes with a WebP filter, by the reference's rules and two of the format's own: a format of pixels
    /// and one value in a cell, without which nothing could be written.
    pub(super) fn check_images(&self) -> Result<()> {
        let shared = [
            ("coords_filters", &self.coords_filters),
            ("offsets_filters", &self.offsets_filters),
            ("validity_filters", &self.validity_filters),
        ];
        let shared = shared.into_iter().find(|(_, filters)| has_images(filters)).map(|(name, _)| name);
        let dimension = self.dimensions.iter().find(|dimension| has_images(&dimension.filters));
        if let Some(place) = shared.or(dimension.map(|dimension| dimension.name.as_str())) {
            return Err(Error::invalid(format!(
                "{place:?} has a WebP filter; it is for attributes of type UINT8 alone"
            )));
        }
        self.attributes.iter().try_for_each(|attribute| {
            self.check_image(attribute).map_err(|error| {
                error.context(format_args!("attribute {:?} with a WebP filter", attribute.name))
            })
        })
    }

    fn check_image(&self, attribute: &Attribute) -> Result<()> {
        let webp = attribute.filters.filters.iter().find_map(|filter| match filter {
            Filter::Webp { quality, format, .. } => Some((*quality, *format)),
            _ => None,
        });
        let Some((quality, format)) = webp else { return Ok(()) };
        if attribute.datatype != Datatype::UInt8 || attribute.cell_val_num != CellValNum::ONE {
            return Err(Error::invalid(format!(
                "it holds {:?} of type {}; images are of one UINT8 in a cell, a colour channel of a pixel",
                attribute.cell_val_num, attribute.datatype
            )));
        }
        let pixel_depth = format.pixel_depth() as u64;
        if pixel_depth == 0 {
            return Err(Error::invalid("no pixel format is given; take 1 RGB, 2 BGR, 3 RGBA or 4 BGRA"));
        }
        if !(0.0..=100.0).contains(&quality) {
            return Err(Error::invalid(format!("a quality of {quality}; it is between 0 and 100")));
        }
        if !self.is_dense() {
            return Err(Error::invalid("the array is sparse; only dense arrays have images"));
        }
        let [rows, columns] = self.dimensions.as_slice() else {
            return Err(Error::invalid(format!(
                "the array has {} dimensions; images have two: rows, and values along a row",
                self.dimensions.len()
            )));
        };
        let (Some(row_count), Some(row_len)) = (rows.extent_len(), columns.extent_len()) else {
            return Err(Error::invalid("images need dimensions of integers with tile extents"));
        };
        if row_len % pixel_depth != 0 {
            return Err(Error::invalid(format!(
                "the tile extent {row_len} of dimension {:?} must be a multiple of {pixel_depth}, the values of a pixel of \
                 format {format:?}",
                columns.name
            )));
        }
        if row_count > MAX_IMAGE_EXTENT || row_len / pixel_depth > MAX_IMAGE_EXTENT {
            return Err(Error::invalid(format!(
                "a tile is an image of {} by {row_count} pixels; at most {MAX_IMAGE_EXTENT} by {MAX_IMAGE_EXTENT} are \
                 possible, so take smaller tile extents",
                row_len / pixel_depth
            )));
        }
        Ok(())
    }
}

fn has_images(filters: &FilterPipeline) -> bool {
    filters.filters.iter().any(|filter| matches!(filter, Filter::Webp { .. }))
}

fn set_extents(filters: &mut FilterPipeline, extents: Option<(u16, u16)>) {
    let Some(extents) = extents else { return };
    for filter in &mut filters.filters {
        if let Filter::Webp { y_extent, x_extent, .. } = filter {
            (*y_extent, *x_extent) = extents;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::tests::{attribute, dimension, schema};
    use super::*;
    use smalti_types::{ArrayType, WebpFormat};

    fn webp(format: WebpFormat) -> FilterPipeline {
        FilterPipeline::new([Filter::Webp {
            quality: 90.0,
            format,
            lossless: true,
            y_extent: 0,
            x_extent: 0,
        }])
    }

    fn images(format: WebpFormat, extents: (i64, i64)) -> ArraySchema {
        let mut schema = schema(vec![
            dimension("y", Datatype::Int32, (0, 99_999), extents.0),
            dimension("x", Datatype::Int32, (0, 99_999), extents.1),
        ]);
        schema.attributes = vec![attribute("image")];
        schema.attributes[0].datatype = Datatype::UInt8;
        schema.attributes[0].fill_value = vec![255];
        schema.attributes[0].filters = webp(format);
        schema
    }

    fn complaint(schema: &ArraySchema) -> String {
        schema.check().unwrap_err().to_string()
    }

    #[test]
    fn tiles_that_are_images_pass_and_their_extents_are_stored() {
        let schema = images(WebpFormat::Bgra, (16_383, 4 * 16_383));
        schema.check().unwrap();
        let Some(Filter::Webp { y_extent, x_extent, .. }) =
            schema.with_image_extents().attributes[0].filters.filters.first().cloned()
        else {
            panic!("the filter stays")
        };
        assert_eq!((y_extent, x_extent), (16_383, 65_532));
    }

    #[test]
    fn the_pipeline_of_an_attribute_has_the_extents_of_its_tiles_whatever_is_on_disk() {
        let schema = images(WebpFormat::Rgb, (5, 9));
        let filters = schema.image_filters(&schema.attributes[0]).unwrap();
        assert!(matches!(filters.filters[0], Filter::Webp { y_extent: 5, x_extent: 9, .. }));
        assert_eq!(schema.image_filters(&attribute("plain")), None);
    }

    #[test]
    fn tiles_that_are_no_images_are_refused() {
        assert!(complaint(&images(WebpFormat::Rgb, (4, 8))).contains("multiple of 3"));
        assert!(complaint(&images(WebpFormat::Rgba, (4, 9))).contains("multiple of 4"));
        assert!(complaint(&images(WebpFormat::Rgb, (16_384, 9))).contains("16384 pixels"));
        assert!(complaint(&images(WebpFormat::Rgb, (4, 3 * 16_384))).contains("16384 by 4"));
        assert!(complaint(&images(WebpFormat::None, (4, 9))).contains("pixel format"));
    }

    #[test]
    fn arrays_that_have_no_images_are_refused() {
        let mut sparse = images(WebpFormat::Rgb, (4, 9));
        sparse.array_type = ArrayType::Sparse;
        assert!(complaint(&sparse).contains("sparse"));
        let mut deep = images(WebpFormat::Rgb, (4, 9));
        deep.dimensions.push(dimension("z", Datatype::Int32, (0, 9), 1));
        assert!(complaint(&deep).contains("3 dimensions"));
        let mut wide = images(WebpFormat::Rgb, (4, 9));
        wide.attributes[0].datatype = Datatype::UInt16;
        wide.attributes[0].fill_value = vec![0, 0];
        assert!(complaint(&wide).contains("UINT16"));
        let mut pixels = images(WebpFormat::Rgb, (4, 9));
        pixels.attributes[0].cell_val_num = CellValNum::from_raw(3).unwrap();
        pixels.attributes[0].fill_value = vec![0; 3];
        assert!(complaint(&pixels).contains("one UINT8"));
        let mut validity = images(WebpFormat::Rgb, (4, 9));
        validity.validity_filters = webp(WebpFormat::Rgb);
        assert!(complaint(&validity).contains("validity_filters"));
    }

    #[test]
    fn every_attribute_with_images_is_checked() {
        // The reference looks at the last attribute alone.
        let mut schema = images(WebpFormat::Rgb, (4, 8));
        schema.attributes.push(attribute("plain"));
        assert!(complaint(&schema).contains("\"image\""));
    }
}
