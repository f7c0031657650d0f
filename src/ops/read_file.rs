//! Reads a window of any file, with the hash of the whole where the window reaches its end.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{mime, report::HashOmitted};
use crate::{
    error::{ArgumentProblem, ArgumentsError, Error, PathError},
    fs::{Look, VaultFile},
    text::ContentHash,
    vault::{FileConfig, Vault},
};

/// How the bytes are to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Images as images, text as text, the rest as base64.
    Auto,
    /// Text, or an error.
    Text,
    /// Bytes.
    Base64,
}

/// A read that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// As the caller spelled it.
    pub path: String,
    /// How the bytes are to be given.
    pub encoding: Encoding,
    /// Where the window begins: characters of text, bytes of base64.
    pub offset: u64,
    /// The longest window.
    pub limit: Option<u64>,
    /// Only the hash.
    pub hash_only: bool,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The path on disk.
    pub path: String,
    /// The spelling asked for, when the disk has another.
    pub requested: Option<String>,
    /// From the closed table.
    pub mime: &'static str,
    /// Of the whole file.
    pub size: u64,
    /// Of the whole file; only where the window reaches its end.
    pub hash: Option<ContentHash>,
    /// Why there is no hash.
    pub hash_omitted: Option<HashOmitted>,
    /// Seconds and nanoseconds since the epoch.
    pub modified: (i64, u32),
    /// The window.
    pub body: Body,
}

/// What of the file is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing but the hash.
    Hash,
    /// The whole file, as base64 of an image.
    Image(String, &'static str),
    /// A window of text.
    Text(String, Window),
    /// A window of bytes, as base64.
    Base64(String, Window),
}

/// A window: characters of text, or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Where it begins.
    pub offset: u64,
    /// How much it holds.
    pub returned: u64,
    /// How much there is.
    pub total: u64,
}

impl Window {
    /// It stops before the end.
    pub const fn is_cut(&self) -> bool {
        self.end() < self.total
    }

    /// Where the next one begins.
    pub const fn end(&self) -> u64 {
        self.offset + self.returned
    }
}

impl Ask {
    /// The rules that need no vault.
    pub fn check(&self) -> Result<(), Error> {
        if self.hash_only && (self.offset != 0 || self.limit.is_some()) {
            return Err(conflict(
                "hash_only",
                "`hash_only` reads the whole file; leave out `offset` and `limit`.",
            ));
        }
        Ok(())
    }

    /// Reads one consistent state of the file.
    pub fn run(&self, vault: &Vault) -> Result<Answer, Error> {
        let path = vault.path(&self.path)?;
        let place = vault.place_to_read(&path).map_err(|error| error.naming(&self.path))?;
        let file = vault.root().open_file(&place)?;
        let files = vault.files();
        let mime = mime::of_extension(place.path().extension().as_deref());
        let (look, body) = self.body(&file, files)?;
        let cut = matches!(&body, Body::Text(_, window) | Body::Base64(_, window) if window.is_cut());
        let hash_omitted = match (cut, look.hash) {
            (true, _) => Some(HashOmitted::Cut),
            (false, None) => Some(HashOmitted::OverCap),
            (false, Some(_)) => None,
        };
        Ok(Answer {
            path: place.path().as_str().to_owned(),
            requested: place.requested().map(|path| path.as_str().to_owned()),
            mime: if let Body::Image(_, mime) = body { mime } else { mime },
            size: look.size,
            hash: look.hash.filter(|_| hash_omitted.is_none()),
            hash_omitted,
            modified: look.modified,
            body,
        })
    }

    fn body(&self, file: &VaultFile, files: &FileConfig) -> Result<(Look, Body), Error> {
        if self.hash_only {
            return Ok((file.hash(files.max_hash_bytes)?, Body::Hash));
        }
        let decodable = match self.encoding {
            Encoding::Base64 => false,
            Encoding::Text => {
                self.refuse_large(file.size(), files)?;
                true
            }
            Encoding::Auto => file.size() <= files.max_read_bytes.max(files.max_image_bytes),
        };
        if !decodable {
            return self.bytes(file, files);
        }
        let look = file.whole(files.max_hash_bytes)?;
        if self.encoding == Encoding::Auto {
            return self.choose(look, files);
        }
        self.refuse_large(look.size, files)?;
        let text = str::from_utf8(&look.bytes).map_err(|error| self.not_utf8(error.valid_up_to(), &look))?;
        let body = self.text(text, files)?;
        Ok((look, body))
    }

    /// An image by its first bytes, text when it is, else bytes.
    fn choose(&self, look: Look, files: &FileConfig) -> Result<(Look, Body), Error> {
        if let Some(mime) = mime::of_image(&look.bytes).filter(|_| look.size <= files.max_image_bytes) {
            if self.offset != 0 || self.limit.is_some() {
                let detail =
                    "An image is given whole; for a window of its bytes set `encoding` to \"base64\".";
                return Err(conflict("encoding", detail));
            }
            let body = Body::Image(STANDARD.encode(&look.bytes), mime);
            return Ok((look, body));
        }
        let text = str::from_utf8(&look.bytes).ok().filter(|text| !text.contains('\0'));
        let body = match text.filter(|_| look.size <= files.max_read_bytes) {
            Some(text) => self.text(text, files)?,
            None => self.window_of(&look, files)?,
        };
        Ok((look, body))
    }

    fn text(&self, text: &str, files: &FileConfig) -> Result<Body, Error> {
        let total = text.chars().count() as u64;
        self.refuse_past(total, "characters")?;
        let most = files.max_response_chars as u64;
        let returned = self.limit.unwrap_or(most).min(most).min(total - self.offset);
        let skip = byte_of(text, self.offset);
        let length = byte_of(&text[skip..], returned);
        let window = Window { offset: self.offset, returned, total };
        Ok(Body::Text(text[skip..skip + length].to_owned(), window))
    }

    /// A window of bytes of a file that was read whole.
    fn window_of(&self, look: &Look, files: &FileConfig) -> Result<Body, Error> {
        self.refuse_past(look.size, "bytes")?;
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(self.base64_limit(files)).unwrap_or(usize::MAX);
        let bytes = &look.bytes[start..look.bytes.len().min(start.saturating_add(length))];
        Ok(self.base64(bytes, look.size))
    }

    fn bytes(&self, file: &VaultFile, files: &FileConfig) -> Result<(Look, Body), Error> {
        let end = self.offset.saturating_add(self.base64_limit(files));
        let look = file.look(self.offset..end, files.max_hash_bytes)?;
        self.refuse_past(look.size, "bytes")?;
        let body = self.base64(&look.bytes, look.size);
        Ok((look, body))
    }

    fn base64(&self, bytes: &[u8], total: u64) -> Body {
        let window = Window { offset: self.offset, returned: bytes.len() as u64, total };
        Body::Base64(STANDARD.encode(bytes), window)
    }

    /// Windows of a multiple of three bytes join without padding between them: a limit that is lowered stays one.
    fn base64_limit(&self, files: &FileConfig) -> u64 {
        let default = (files.max_response_chars as u64) / 4 * 3;
        let wanted = self.limit.unwrap_or(default);
        match files.max_read_bytes {
            most if wanted <= most => wanted,
            most if most < 3 => most,
            most => most / 3 * 3,
        }
    }

    fn refuse_past(&self, total: u64, unit: &str) -> Result<(), Error> {
        if self.offset <= total {
            return Ok(());
        }
        let detail = format!("`offset` is past the end: the file has {total} {unit}.");
        Err(ArgumentsError::invalid("offset", ArgumentProblem::Range, detail).into())
    }

    fn not_utf8(&self, offset: usize, look: &Look) -> Error {
        PathError::NotUtf8 {
            path: self.path.clone(),
            offset_in_bytes: offset as u64,
            hash: look.hash.map(|hash| hash.to_string()),
        }
        .into()
    }

    fn refuse_large(&self, size: u64, files: &FileConfig) -> Result<(), Error> {
        if size <= files.max_read_bytes {
            return Ok(());
        }
        Err(PathError::TooLarge {
            path: self.path.clone(),
            size_in_bytes: size,
            cap_in_bytes: files.max_read_bytes,
            setting: Some("MAX_FILE_READ_BYTES"),
        }
        .into())
    }
}

fn conflict(field: &str, detail: &str) -> Error {
    ArgumentsError::invalid(field, ArgumentProblem::Conflict, detail).into()
}

/// The byte at which the character of that index begins.
fn byte_of(text: &str, chars: u64) -> usize {
    let index = usize::try_from(chars).unwrap_or(usize::MAX);
    text.char_indices().nth(index).map_or(text.len(), |(byte, _)| byte)
}
