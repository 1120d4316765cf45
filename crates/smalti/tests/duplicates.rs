//! What happens to cells of equal coordinates in one write.

use smalti::{Array, Dimension, Duplicates, prelude::*};

#[test]
fn cells_of_equal_coordinates_are_refused_or_kept_as_the_write_says() {
    let schema = Schema::sparse().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<i32>("a"));
    let array = Array::create("mem://duplicates", &schema.build().unwrap()).unwrap();
    let write = |duplicates| {
        array.write().column("x", &[1, 2, 2]).column("a", &[5, 6, 7]).duplicates(duplicates).commit()
    };
    assert_eq!(write(Duplicates::Refuse).unwrap_err().kind(), ErrorKind::InvalidArgument);
    write(Duplicates::KeepFirst).unwrap();
    assert_eq!(array.read().collect().unwrap().num_rows(), 2);
    assert_eq!(array.fragments().unwrap()[0].cell_count(), Some(2));
    write(Duplicates::KeepAll).unwrap();
    assert_eq!(array.fragments().unwrap()[1].cell_count(), Some(3));
}
