//! Elevations to colours: a ramp by height, with light from the north-west.

use super::Color;

/// Elevations on a grid, north at the top, in metres; `None` at sea.
#[derive(Debug, Clone)]
pub struct Grid {
    /// From north to south.
    pub rows: usize,
    /// From west to east.
    pub cols: usize,
    /// Row by row.
    pub metres: Vec<Option<f32>>,
}

/// Colours of the land by elevation in metres, ascending.
const LAND: &[(f32, Color)] = &[
    (-60.0, Color::hex(0x6f9c80)),
    (0.0, Color::hex(0x8fb58a)),
    (120.0, Color::hex(0xadc796)),
    (300.0, Color::hex(0xcfd7a2)),
    (600.0, Color::hex(0xe5d7a5)),
    (1000.0, Color::hex(0xdabb88)),
    (1600.0, Color::hex(0xc0946a)),
    (2300.0, Color::hex(0xa17a64)),
    (3000.0, Color::hex(0xc3b5ad)),
    (3800.0, Color::hex(0xf7f6f5)),
];
const SHALLOW: Color = Color::hex(0xbcd9e6);
const DEEP: Color = Color::hex(0x86b3d1);

/// The colour of land at an elevation.
pub(super) fn land_color(metres: f32) -> Color {
    let above = LAND.iter().position(|(height, _)| *height >= metres).unwrap_or(LAND.len() - 1).max(1);
    let ((low, from), (high, to)) = (LAND[above - 1], LAND[above]);
    from.mix(to, ((metres - low) / (high - low)).clamp(0.0, 1.0))
}

/// Colours between the cells of a grid.
pub(super) struct Relief<'a> {
    grid: &'a Grid,
    /// Elevation, smoothed against the steps of the data; zero at sea.
    height: Vec<f32>,
    /// How much land is around: 1 inland, 0 far out at sea.
    nearness: Vec<f32>,
}

impl<'a> Relief<'a> {
    pub(super) fn new(grid: &'a Grid) -> Self {
        let height: Vec<f32> = grid.metres.iter().map(|metres| metres.unwrap_or(0.0)).collect();
        let land = grid.metres.iter().map(|metres| f32::from(u8::from(metres.is_some()))).collect();
        let height = blur(grid, blur(grid, height, 1), 1);
        let nearness = blur(grid, blur(grid, blur(grid, land, 7), 7), 7);
        Relief { grid, height, nearness }
    }

    /// The colour at a place in cells from the upper left corner; the centre of the first cell is (0.5, 0.5).
    pub(super) fn color(&self, row: f32, col: f32) -> Color {
        let corners = self.corners(row, col);
        let mut land = 0.0;
        let mut metres = 0.0;
        for (idx, weight) in corners {
            if let Some(cell) = self.grid.metres.get(idx).copied().flatten() {
                land += weight;
                metres += weight * cell;
            }
        }
        let sea = DEEP.mix(SHALLOW, (self.interpolate(&self.nearness, row, col) * 1.8).clamp(0.0, 1.0));
        if land <= 0.0 {
            return sea;
        }
        let light = self.light(row, col);
        let color = land_color(metres / land).lit(light);
        // The coast runs where half of the surroundings are land; a soft edge hides the grid.
        sea.mix(color, ((land - 0.5) * 5.0 + 0.5).clamp(0.0, 1.0))
    }

    /// Light on a slope: above 1 where it faces north-west.
    fn light(&self, row: f32, col: f32) -> f32 {
        let at = |row, col| self.interpolate(&self.height, row, col);
        let east = at(row, col + 0.7) - at(row, col - 0.7);
        let south = at(row + 0.7, col) - at(row - 0.7, col);
        let slope = (east + south) / 1.4;
        1.0 + (slope / 650.0).clamp(-1.0, 1.0) * if slope > 0.0 { 0.3 } else { 0.45 }
    }

    fn interpolate(&self, values: &[f32], row: f32, col: f32) -> f32 {
        self.corners(row, col).into_iter().map(|(idx, weight)| values.get(idx).unwrap_or(&0.0) * weight).sum()
    }

    /// The four cells around a place with their shares.
    fn corners(&self, row: f32, col: f32) -> [(usize, f32); 4] {
        let split = |at: f32, len: usize| {
            let at = (at - 0.5).clamp(0.0, len as f32 - 1.0);
            let low = at.floor();
            (low as usize, (low as usize + 1).min(len - 1), at - low)
        };
        let (top, bottom, down) = split(row, self.grid.rows);
        let (left, right, across) = split(col, self.grid.cols);
        let idx = |row: usize, col: usize| row * self.grid.cols + col;
        [
            (idx(top, left), (1.0 - down) * (1.0 - across)),
            (idx(top, right), (1.0 - down) * across),
            (idx(bottom, left), down * (1.0 - across)),
            (idx(bottom, right), down * across),
        ]
    }
}

/// The mean over a square that reaches `radius` cells to each side.
fn blur(grid: &Grid, values: Vec<f32>, radius: usize) -> Vec<f32> {
    let lines = |values: &[f32], len: usize, count: usize, step: usize, stride: usize| {
        let mut out = vec![0.0; values.len()];
        for line in 0..count {
            let start = line * stride;
            for at in 0..len {
                let (from, to) = (at.saturating_sub(radius), (at + radius).min(len - 1));
                let sum: f32 = (from..=to).map(|near| values[start + near * step]).sum();
                out[start + at * step] = sum / (to - from + 1) as f32;
            }
        }
        out
    };
    let across = lines(&values, grid.cols, grid.rows, 1, grid.cols);
    lines(&across, grid.rows, grid.cols, grid.cols, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_ends_in_its_own_colours() {
        assert_eq!(land_color(-500.0), LAND[0].1);
        assert_eq!(land_color(9000.0), LAND[LAND.len() - 1].1);
        assert_eq!(land_color(600.0), Color::hex(0xe5d7a5));
    }

    #[test]
    fn slopes_that_face_the_light_are_brighter() {
        let metres = [0.0, 500.0, 1000.0, 500.0, 0.0];
        let grid = Grid { rows: 5, cols: 5, metres: (0..25).map(|cell| Some(metres[cell % 5])).collect() };
        let relief = Relief::new(&grid);
        assert!(relief.light(2.5, 1.5) > 1.0);
        assert!(relief.light(2.5, 3.5) < 1.0);
        let sea = Grid { rows: 1, cols: 1, metres: vec![None] };
        assert_eq!(Relief::new(&sea).color(0.5, 0.5), DEEP);
    }
}
