//! Dense arrays whose tiles are WebP images.

use crate::oracle::arrays::{dimension, place, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_query::{Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_tile::ColumnRef;
use smalti_types::{
    ArrayType, Datatype, ErrorKind, Filter, FilterPipeline, Layout, Scalar, TimeRange, WebpFormat,
};

const ROWS: i32 = 10;
/// Two tiles of five pixels, and a third that leaves the domain.
const ROW_LEN: i32 = 36;

fn create(format: WebpFormat, lossless: bool, cell_order: Layout) -> ArrayPlace {
    let channels = format.pixel_depth() as i32;
    let domain = |len: i32| Some((Scalar::I32(-3), Scalar::I32(len - 4)));
    let dimensions = vec![
        dimension("y", domain(ROWS), Some(Scalar::I32(4))),
        dimension("x", domain(ROW_LEN), Some(Scalar::I32(5 * channels))),
    ];
    let mut schema = schema(ArrayType::Dense, dimensions, (Layout::RowMajor, cell_order));
    schema.attributes.truncate(1);
    let attribute = &mut schema.attributes[0];
    attribute.datatype = Datatype::UInt8;
    attribute.fill_value = vec![255];
    attribute.filters = FilterPipeline::new([
        Filter::Webp { quality: 95.0, format, lossless, y_extent: 0, x_extent: 0 },
        Filter::Zstd { level: -1 },
    ]);
    let place = place(11);
    place.create(&schema).unwrap();
    place
}

/// A gradient, with every value of alpha that there is room for.
fn pixels() -> Vec<u8> {
    (0..ROWS * ROW_LEN).map(|at| (at % ROW_LEN * 5 + at / ROW_LEN * 3) as u8).collect()
}

fn write_and_read(place: &ArrayPlace, pixels: &[u8]) -> Vec<u8> {
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let request = WriteRequest {
        columns: vec![("n".into(), ColumnRef::fixed(pixels))],
        subarray: None,
        layout: Layout::RowMajor,
        at: None,
        duplicates: Duplicates::default(),
        progress: None,
    };
    write(&snapshot, &request).unwrap();
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    let request = ReadRequest { fields: vec!["n".into()], ..ReadRequest::default() };
    let batches = read(&snapshot, &request).unwrap();
    batches.flat_map(|batch| batch.unwrap().columns[0].as_ref().data.to_vec()).collect()
}

#[test]
fn lossless_images_come_back_in_every_format_and_order() {
    for format in [WebpFormat::Rgb, WebpFormat::Bgr, WebpFormat::Rgba, WebpFormat::Bgra] {
        for cell_order in [Layout::RowMajor, Layout::ColMajor] {
            let place = create(format, true, cell_order);
            assert_eq!(write_and_read(&place, &pixels()), pixels(), "{format:?} {cell_order}");
        }
    }
}

#[test]
fn lossy_images_come_back_nearly() {
    let place = create(WebpFormat::Rgb, false, Layout::RowMajor);
    let read = write_and_read(&place, &[100; (ROWS * ROW_LEN) as usize]);
    assert_eq!(read.len(), (ROWS * ROW_LEN) as usize);
    // The first two tiles hold nothing but this grey; the third is filled up with white.
    let grey = &read[..30];
    assert!(grey.iter().all(|value| value.abs_diff(100) <= 4), "{grey:?}");
}

#[test]
fn the_stored_schema_has_the_extents_of_a_tile() {
    let place = create(WebpFormat::Rgba, true, Layout::RowMajor);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let filters = &snapshot.schema().attributes[0].filters.filters;
    assert!(matches!(filters[0], Filter::Webp { y_extent: 4, x_extent: 20, .. }), "{filters:?}");
}

#[test]
fn an_array_whose_tiles_are_no_images_is_not_created() {
    let place = create(WebpFormat::Rgb, true, Layout::RowMajor);
    let snapshot = Snapshot::open(place, TimeRange::ALL).unwrap();
    let mut schema = (**snapshot.schema()).clone();
    schema.dimensions[1].tile_extent = Some(Scalar::I32(7));
    let error = crate::oracle::arrays::place(3).create(&schema).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("multiple of 3"), "{error}");
}
