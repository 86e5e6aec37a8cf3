//! The sheet every picture is drawn on: file formats, font, colours, caption.

use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};

/// Width and height of every picture in pixels: wide enough for two columns of a page, small enough for a README.
pub(super) const SIZE: (u32, u32) = (1_000, 620);

/// The font's name in SVG, as a list: the one that PNG embeds, then what a browser has.
pub(super) const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
pub(super) const TEXT: RGBColor = RGBColor(0x22, 0x22, 0x22);
pub(super) const MUTED: RGBColor = RGBColor(0x66, 0x66, 0x66);
pub(super) const RULE: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
pub(super) const BLUE: RGBColor = LINES[0];
pub(super) const VERMILLION: RGBColor = LINES[1];
pub(super) const GREEN: RGBColor = LINES[2];

/// Seven of the eight colours of Okabe and Ito; yellow is left out because it fades on white.
/// <https://jfly.uni-koeln.de/color/>
pub(super) const LINES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

pub(super) type Area<DB> = DrawingArea<DB, Shift>;
pub(super) type Drawn<DB, T = ()> =
    std::result::Result<T, DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Something that draws itself on a white sheet of [`SIZE`].
pub(super) trait Picture {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB>;
}

/// Draws a picture into a file, SVG or PNG by its extension.
pub(super) fn save(picture: &impl Picture, path: &Path) -> Result<()> {
    register();
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    let bytes = match extension.to_ascii_lowercase().as_str() {
        "svg" => svg(picture),
        "png" => png(picture),
        _ => Err(format!(
            "no picture format '{extension}'; name the file .svg or .png"
        )),
    };
    let bytes = bytes.map_err(|reason| refuse(path, reason))?;
    std::fs::write(path, bytes).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })
}

/// The error of a picture that cannot be drawn.
pub(super) fn refuse(path: &Path, reason: impl Into<String>) -> Error {
    Error::Picture {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

fn svg(picture: &impl Picture) -> std::result::Result<Vec<u8>, String> {
    let mut text = String::new();
    let sheet = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(picture, &sheet)?;
    drop(sheet);
    Ok(text.into_bytes())
}

fn png(picture: &impl Picture) -> std::result::Result<Vec<u8>, String> {
    let (width, height) = SIZE;
    let mut pixels = vec![0; (width * height * 3) as usize];
    let sheet = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
    draw(picture, &sheet)?;
    drop(sheet);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|cause| cause.to_string())?;
    writer
        .write_image_data(&pixels)
        .map_err(|cause| cause.to_string())?;
    writer.finish().map_err(|cause| cause.to_string())?;
    Ok(bytes)
}

fn draw<DB: DrawingBackend>(
    picture: &impl Picture,
    sheet: &Area<DB>,
) -> std::result::Result<(), String> {
    let drawn = sheet
        .fill(&WHITE)
        .and_then(|()| picture.draw(sheet))
        .and_then(|()| sheet.present());
    drawn.map_err(|cause| cause.to_string())
}

/// Plotters keeps fonts in a table of the process; the name is ours alone, so no other user of it is disturbed.
fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let is_read = register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok();
        debug_assert!(is_read, "the embedded font is a valid OpenType file");
    });
}

/// Text of a size and colour, anchored at a point.
pub(super) fn text(size: u32, color: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    (FONT, size).into_font().color(&color).pos(Pos::new(h, v))
}

/// Writes the caption and, below it, one line that says what is seen; returns the sheet's rest.
pub(super) fn caption<DB: DrawingBackend>(
    sheet: &Area<DB>,
    title: &str,
    note: &str,
) -> Drawn<DB, Area<DB>> {
    sheet.draw_text(title, &text(22, TEXT, HPos::Left, VPos::Top), (24, 14))?;
    sheet.draw_text(note, &text(14, MUTED, HPos::Left, VPos::Top), (24, 44))?;
    Ok(sheet.margin(70, 14, 18, 46))
}

/// Writes a legend in one row: a swatch and a name for each line.
pub(super) fn legend<DB: DrawingBackend>(
    sheet: &Area<DB>,
    names: &[(&str, RGBColor)],
    (mut x, y): (i32, i32),
) -> Drawn<DB> {
    let style = text(14, TEXT, HPos::Left, VPos::Center);
    for (name, color) in names {
        sheet.draw(&Rectangle::new(
            [(x, y - 2), (x + 22, y + 2)],
            color.filled(),
        ))?;
        sheet.draw_text(name, &style, (x + 28, y))?;
        let (width, _) = sheet.estimate_text_size(name, &style)?;
        x += 28 + width as i32 + 24;
    }
    Ok(())
}
