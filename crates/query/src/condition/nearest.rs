//! Labels that are written nearly as one that does not exist.

use smalti_format::Enumeration;

/// Labels that are offered.
const MAX_OFFERED: usize = 3;
/// Texts of more characters are not compared.
const MAX_CHARACTERS: usize = 64;
/// Labels that are looked at, so that an enumeration of millions costs no more than one of many.
const MAX_COMPARED: usize = 50_000;

/// The labels of an enumeration that are nearest to a text, at most three, the nearest first: those that differ in the case
/// of letters alone, that hold it or lie in it, and those that few edits turn into it.
///
/// ```
/// # use smalti_format::Enumeration;
/// use smalti_query::condition::nearest_labels;
/// # let labels = Enumeration {
/// #     version: 0, name: "colors".into(), file: "f".into(), datatype: smalti_types::Datatype::StringAscii,
/// #     cell_val_num: smalti_types::CellValNum::Var, is_ordered: false, data: b"redgreenblue".to_vec(), offsets: vec![0, 3, 8],
/// # };
/// assert_eq!(nearest_labels(&labels, "gren"), ["green"]);
/// assert_eq!(nearest_labels(&labels, "RED"), ["red"]);
/// ```
pub fn nearest_labels(enumeration: &Enumeration, text: &str) -> Vec<String> {
    let wanted = text.to_lowercase();
    let wanted_len = wanted.chars().count();
    if wanted_len == 0 || wanted_len > MAX_CHARACTERS {
        return Vec::new();
    }
    // A third of the letters may be wrong.
    let most = (wanted_len / 3).max(1);
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for idx in 0..enumeration.element_count().min(MAX_COMPARED) {
        let label = enumeration.element(idx).and_then(|label| std::str::from_utf8(label).ok());
        let Some(label) = label.filter(|label| label.len() <= MAX_CHARACTERS * 4) else { continue };
        let lower = label.to_lowercase();
        let len = lower.chars().count();
        let is_part = wanted_len >= 3 && lower.contains(&wanted) || len >= 3 && wanted.contains(&lower);
        let distance = match len.abs_diff(wanted_len) {
            apart if apart <= most => strsim::osa_distance(&lower, &wanted),
            _ => usize::MAX,
        };
        let distance = if is_part { distance.min(most) } else { distance };
        if distance <= most {
            found.push((distance, idx, label.to_owned()));
        }
    }
    found.sort_unstable();
    found.truncate(MAX_OFFERED);
    found.into_iter().map(|(_, _, label)| label).collect()
}
