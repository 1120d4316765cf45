//! A made-up experiment: how many molecules of each gene were found in each of some thousand blood cells of two donors. The names
//! of the marker genes are those of textbooks; every number is drawn from a fixed seed, so that everybody gets the same.

/// Number of genes.
pub(super) const GENES: usize = 600;
/// Number of cells, half of them from each donor.
const CELLS: usize = 2400;
/// Chances are in parts of this.
const WHOLE: u64 = 1024;

/// A kind of cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Genes that cells of this kind have much more of than others.
    markers: [&'static str; 4],
    /// How many of `WHOLE` cells are of this kind.
    share: u64,
}

const KINDS: [Kind; 5] = [
    Kind { name: "T cell", markers: ["CD3D", "CD3E", "IL7R", "TRAC"], share: 460 },
    Kind { name: "monocyte", markers: ["LYZ", "CD14", "S100A8", "S100A9"], share: 250 },
    Kind { name: "B cell", markers: ["MS4A1", "CD79A", "CD79B", "CD19"], share: 160 },
    Kind { name: "NK cell", markers: ["GNLY", "NKG7", "KLRD1", "NCAM1"], share: 130 },
    Kind { name: "platelet", markers: ["PPBP", "PF4", "GP9", "ITGA2B"], share: 24 },
];

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) barcode: String,
    pub(super) kind: &'static Kind,
    /// Whether it is of the second donor.
    pub(super) is_second: bool,
}

/// Cells, and what was found in them.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) cells: Vec<Cell>,
    /// Cell, gene and number of molecules, in that order.
    found: Vec<(usize, usize, u64)>,
}

impl Counts {
    /// The same every time.
    pub(super) fn new() -> Self {
        let mut random = Random(13);
        let (mut cells, mut found) = (Vec::new(), Vec::new());
        for idx in 0..CELLS {
            let barcode = (0..16).map(|_| ['A', 'C', 'G', 'T'][random.below(4) as usize]).collect();
            let kind = kind_of(random.below(WHOLE));
            for gene in 0..GENES {
                // The first genes are found in many cells, the last in few.
                let is_marker = kind.markers.contains(&gene_name(gene).as_str());
                let chance = if is_marker { 900 } else { 12 + 24_000 / (gene as u64 + 120) };
                if random.below(WHOLE) < chance {
                    let more = if is_marker { 700 } else { 300 };
                    let mut molecules = 1;
                    while random.below(WHOLE) < more {
                        molecules += 1;
                    }
                    found.push((idx, gene, molecules));
                }
            }
            cells.push(Cell { barcode, kind, is_second: idx >= CELLS / 2 });
        }
        Counts { cells, found }
    }

    /// What was found in the cells of a donor.
    pub(super) fn of_donor(&self, is_second: bool) -> impl Iterator<Item = (usize, usize, u64)> {
        self.found.iter().copied().filter(move |(cell, ..)| (*cell >= CELLS / 2) == is_second)
    }
}

/// The name of a gene; markers come every 29 genes.
pub(super) fn gene_name(gene: usize) -> String {
    let mut markers = KINDS.iter().flat_map(|kind| kind.markers);
    let marker = (gene % 29 == 7).then(|| markers.nth(gene / 29)).flatten();
    marker.map_or_else(|| format!("GENE{gene:03}"), String::from)
}

fn kind_of(mut draw: u64) -> &'static Kind {
    for kind in &KINDS {
        if draw < kind.share {
            return kind;
        }
        draw -= kind.share;
    }
    &KINDS[0]
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_always_the_same_and_markers_mark() {
        let counts = Counts::new();
        assert_eq!((counts.cells.len(), counts.found.len()), (CELLS, Counts::new().found.len()));
        assert_eq!(KINDS.iter().map(|kind| kind.share).sum::<u64>(), WHOLE);
        let gene = (0..GENES).find(|gene| gene_name(*gene) == "MS4A1").unwrap();
        let with = |is_b: bool| {
            let of_kind = |cell: usize| (counts.cells[cell].kind.name == "B cell") == is_b;
            counts.found.iter().filter(|(cell, found, _)| *found == gene && of_kind(*cell)).count()
        };
        assert!(with(true) > 200 && with(false) < 300, "{} {}", with(true), with(false));
        assert!((0..GENES).filter(|gene| !gene_name(*gene).starts_with("GENE")).count() == 20);
    }
}
