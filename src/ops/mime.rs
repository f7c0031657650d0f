//! Media types: by extension from a closed table, never from what a file says of itself; images by their first bytes.

/// The media type for an extension in lower case; `application/octet-stream` for one that is not known.
pub fn of_extension(extension: Option<&str>) -> &'static str {
    let known = TABLE.iter().find(|(_, extensions)| extension.is_some_and(|ext| extensions.contains(&ext)));
    known.map_or("application/octet-stream", |(mime, _)| mime)
}

const TABLE: &[(&str, &[&str])] = &[
    ("text/markdown", &["md", "markdown"]),
    ("text/plain", &["txt", "log", "tex"]),
    ("text/csv", &["csv"]),
    ("text/html", &["html", "htm"]),
    ("text/css", &["css"]),
    ("text/javascript", &["js", "mjs"]),
    ("application/json", &["json", "canvas"]),
    ("application/yaml", &["yaml", "yml", "base"]),
    ("application/xml", &["xml"]),
    ("application/pdf", &["pdf"]),
    ("application/epub+zip", &["epub"]),
    ("application/zip", &["zip"]),
    ("application/gzip", &["gz"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx"]),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx"]),
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("image/svg+xml", &["svg"]),
    ("image/avif", &["avif"]),
    ("image/bmp", &["bmp"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/mp4", &["m4a"]),
    ("audio/wav", &["wav"]),
    ("audio/ogg", &["ogg", "oga"]),
    ("audio/flac", &["flac"]),
    ("audio/webm", &["weba"]),
    ("video/mp4", &["mp4"]),
    ("video/webm", &["webm"]),
    ("video/quicktime", &["mov"]),
    ("video/ogg", &["ogv"]),
    ("video/x-matroska", &["mkv"]),
];

/// The image type that the first bytes show, of those that clients display.
pub fn of_image(bytes: &[u8]) -> Option<&'static str> {
    let webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if webp => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_and_what_is_unknown_is_bytes() {
        assert_eq!(of_extension(Some("pdf")), "application/pdf");
        assert_eq!(of_extension(Some("xyz")), "application/octet-stream");
        assert_eq!(of_extension(None), "application/octet-stream");
    }

    #[test]
    fn an_image_is_known_by_its_first_bytes() {
        assert_eq!(of_image(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(of_image(b"RIFF\x00\x00\x00\x00WEBPVP8 "), Some("image/webp"));
        assert_eq!(of_image(b"GIF89a"), Some("image/gif"));
        assert_eq!(of_image(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(of_image(b"<svg/>"), None);
        assert_eq!(of_image(b"RIFF"), None);
    }
}
