//! Colours for numbers and for categories, chosen so that colour-blind people can tell them apart.

use super::Color;

/// From a share of 0 to 1 to a colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Ramp {
    /// Dark violet over green to yellow
    #[default]
    Viridis,
    /// Dark blue over grey to yellow: looks nearly the same to all eyes
    Cividis,
    /// Black over purple to pale yellow
    Magma,
    /// Blue over white to orange, for values on both sides of a middle
    Diverging,
    /// Black to white
    Gray,
}

/// Polynomials that follow the tables of matplotlib's viridis and magma (which are CC0), by Matt Zucker (CC0): red, green and blue
/// for each power of the share.
const VIRIDIS: [[f64; 3]; 7] = [
    [0.277_727_3, 0.005_407_3, 0.334_099_8],
    [0.105_093_0, 1.404_613_5, 1.384_590_2],
    [-0.330_861_8, 0.214_847_6, 0.095_095_2],
    [-4.634_230_5, -5.799_101_0, -19.332_441_0],
    [6.228_269_9, 14.179_933_4, 56.690_552_6],
    [4.776_385_0, -13.745_145_4, -65.353_032_6],
    [-5.435_455_9, 4.645_852_6, 26.312_435_2],
];
const MAGMA: [[f64; 3]; 7] = [
    [-0.002_136_5, -0.000_749_7, -0.005_386_1],
    [0.251_660_5, 0.677_523_2, 2.494_026_6],
    [8.353_717_3, -3.577_719_5, 0.314_467_9],
    [-27.668_733_1, 14.264_730_8, -13.649_213_2],
    [52.176_139_8, -27.943_606_1, 12.944_169_4],
    [-50.768_525_4, 29.046_582_8, 4.234_153_0],
    [18.655_705_1, -11.489_773_5, -5.601_961_5],
];

/// Cividis in nine steps: Nuñez, Anderton and Renslow, "Optimizing colormaps with consideration for color vision deficiency" (CC0).
const CIVIDIS: [u32; 10] =
    [0x00204d, 0x00336f, 0x39486b, 0x575c6d, 0x707173, 0x8a8779, 0xa69d75, 0xc4b56c, 0xe4cf5b, 0xffea46];
const DIVERGING: [u32; 5] = [0x00456e, 0x4f9bc6, 0xf5f5f2, 0xe58a4a, 0x8c3a00];

/// Colours that differ to all eyes: Okabe and Ito, "Color universal design"; the black one is last.
pub(crate) const CATEGORIES: [Color; 8] = [
    Color::hex(0x0072b2),
    Color::hex(0xe69f00),
    Color::hex(0x009e73),
    Color::hex(0xd55e00),
    Color::hex(0x56b4e9),
    Color::hex(0xcc79a7),
    Color::hex(0xf0e442),
    Color::hex(0x2b2b33),
];

impl Ramp {
    /// The colour at a share of 0 to 1; beyond them that of the end.
    pub(crate) fn color(self, share: f64) -> Color {
        let share = share.clamp(0.0, 1.0);
        match self {
            Ramp::Viridis => polynomial(&VIRIDIS, share),
            Ramp::Magma => polynomial(&MAGMA, share),
            Ramp::Cividis => steps(&CIVIDIS, share),
            Ramp::Diverging => steps(&DIVERGING, share),
            Ramp::Gray => Color::hex(0x101010).mix(Color::hex(0xf5f5f5), share as f32),
        }
    }
}

fn polynomial(powers: &[[f64; 3]; 7], share: f64) -> Color {
    Color(std::array::from_fn(|channel| {
        let value = powers.iter().rev().fold(0.0, |sum, power| sum * share + power[channel]);
        value.clamp(0.0, 1.0) as f32
    }))
}

fn steps(colors: &[u32], share: f64) -> Color {
    let place = share * (colors.len() - 1) as f64;
    let first = (place as usize).min(colors.len() - 2);
    Color::hex(colors[first]).mix(Color::hex(colors[first + 1]), (place - first as f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lightness(color: Color) -> f32 {
        0.2126 * color.0[0] + 0.7152 * color.0[1] + 0.0722 * color.0[2]
    }

    #[test]
    fn ramps_get_lighter_from_end_to_end_so_that_they_are_read_without_colour() {
        for ramp in [Ramp::Viridis, Ramp::Cividis, Ramp::Magma, Ramp::Gray] {
            for share in 0..100 {
                let (here, next) = (f64::from(share) / 100.0, f64::from(share + 1) / 100.0);
                assert!(
                    lightness(ramp.color(next)) >= lightness(ramp.color(here)) - 0.002,
                    "{ramp:?} {share}"
                );
            }
        }
        assert_eq!(Ramp::Cividis.color(-1.0), Color::hex(0x00204d));
        assert_eq!(Ramp::Cividis.color(2.0), Color::hex(0xffea46));
        assert_eq!(Ramp::Diverging.color(0.5), Color::hex(0xf5f5f2));
    }
}
