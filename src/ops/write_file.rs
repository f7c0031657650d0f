//! Publishes the bytes of any file: no clobber by default, bound to a hash when one is given.

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD};

use super::{
    apply,
    plan::Publish,
    report::{Mutation, Preview, WriteReport},
};
use crate::{
    cancel::CancelFlag,
    error::{ArgumentsError, Error, PathError, ServingError, WriteError, echo},
    fs::{Content, Expect, HostPath, Incumbent, Ladder, Place, Source},
    text::{ContentHash, diff},
    vault::Vault,
};

/// Texts up to this size are shown as a diff in a dry run.
const DIFF_MAX: u64 = 1024 * 1024;

/// Where the bytes come from.
#[derive(Debug)]
pub enum Input {
    /// Strict base64.
    Base64(String),
    /// UTF-8, verbatim.
    Text(String),
    /// An absolute path in a folder that the operator opened, and the hash its bytes must have.
    SourcePath(String, Option<ContentHash>),
    /// Any file that the user of this process can read, and the hash its bytes must have.
    HostFile(HostPath, Option<ContentHash>),
    /// Standard input, read until its end, and the hash its bytes must have.
    Stdin(Option<ContentHash>),
}

/// A write that was asked for.
#[derive(Debug)]
pub struct Ask {
    /// As the caller spelled it.
    pub path: String,
    /// Where the bytes come from.
    pub input: Input,
    /// A file that exists may be replaced.
    pub overwrite: bool,
    /// The hash of what may be replaced.
    pub expected: Option<ContentHash>,
    /// Only tell what would change.
    pub dry_run: bool,
}

impl Ask {
    /// The rules that need no vault: a hash is given only where something may be replaced.
    pub fn check(&self) -> Result<(), Error> {
        if self.expected.is_some() && !self.overwrite {
            return Err(WriteError::NoIncumbent { path: echo(&self.path) }.into());
        }
        Ok(())
    }

    /// Runs the checks in their order, then publishes.
    ///
    /// A call that was cancelled ends before the publication begins, and never within it.
    pub fn run(self, vault: &Vault, cancel: &CancelFlag) -> Result<WriteReport, Error> {
        refuse_cancelled(cancel)?;
        let path = vault.path(&self.path)?;
        let place = vault.place_to_write(&path).map_err(|error| error.naming(&self.path))?;
        let incumbent = self.ladder(vault, &place)?;
        let content = decode(self.input, vault, cancel)?;
        if let Some(size) = known_size(&content) {
            PathError::refuse_over_write_cap(&self.path, size, vault.files().max_write_bytes)?;
        }
        if !self.overwrite && place.exists() {
            return Err(vault.withhold(vault.root().taken(&place)));
        }
        let requested = place.requested().map(|path| path.as_str().to_owned());
        let looked = Looked { place, incumbent, content, requested, dry_run: self.dry_run };
        if let Some(answer) = looked.unchanged(vault)? {
            return Ok(answer);
        }
        if self.dry_run {
            return looked.preview(vault);
        }
        refuse_cancelled(cancel)?;
        let required = vault.files().precondition_required;
        let expect = expect(self.overwrite, self.expected, looked.incumbent.is_some(), required);
        let Looked { place, content, requested, .. } = looked;
        let written = apply::publish(vault, Publish { place, expect, content })
            .map_err(|error| error.naming(&self.path))?;
        Ok(WriteReport::of(Mutation::of(written, requested), None))
    }

    fn ladder(&self, vault: &Vault, place: &Place) -> Result<Option<Incumbent>, Error> {
        if !self.overwrite {
            return Ok(None);
        }
        let ladder = Ladder {
            hash: self.expected,
            required: vault.files().precondition_required,
            hash_cap: vault.files().max_hash_bytes,
        };
        ladder.judge(vault.root(), place)
    }
}

fn refuse_cancelled(cancel: &CancelFlag) -> Result<(), Error> {
    if cancel.is_cancelled() { Err(ServingError::Cancelled {}.into()) } else { Ok(()) }
}

/// A deployment that requires preconditions lets an overwrite create, but replace nothing that came meanwhile.
const fn expect(overwrite: bool, hash: Option<ContentHash>, exists: bool, required: bool) -> Expect {
    match (overwrite, hash) {
        (false, _) => Expect::Absent,
        (true, Some(hash)) => Expect::Hash(hash),
        (true, None) if required && !exists => Expect::Absent,
        (true, None) => Expect::AnyOrAbsent,
    }
}

/// Everything about a write that is known before anything is written.
struct Looked {
    place: Place,
    incumbent: Option<Incumbent>,
    content: Content,
    requested: Option<String>,
    dry_run: bool,
}

impl Looked {
    /// The bytes are there already. A source is read for this only where its size is that of the incumbent.
    fn unchanged(&self, vault: &Vault) -> Result<Option<WriteReport>, Error> {
        let Some(Incumbent { hash: Some(old), size }) = self.incumbent else { return Ok(None) };
        if known_size(&self.content) != Some(size) {
            return Ok(None);
        }
        let new = match &self.content {
            Content::Bytes(bytes) => ContentHash::of(bytes),
            Content::File(source) => {
                source.hash(vault.files().max_write_bytes, self.place.path().as_str())?
            }
            Content::Stream(..) => return Ok(None),
        };
        Ok((new == old).then(|| WriteReport::of(self.facts(), self.dry_run.then(Preview::default))))
    }

    /// What the write would give.
    fn preview(self, vault: &Vault) -> Result<WriteReport, Error> {
        let cap = vault.files().max_write_bytes;
        let facts = self.facts();
        let (hash, size, bytes) = self.content.measure(cap, &facts.path)?;
        let diff = bytes.and_then(|new| preview_diff(vault, &self.place, self.incumbent, &new));
        let most = vault.files().max_response_chars;
        let preview = diff.map_or_else(Preview::default, |diff| Preview::of_diff(diff, most));
        let changed = self.incumbent.is_none_or(|incumbent| incumbent.hash != Some(hash));
        let durable = changed.then_some(false);
        Ok(WriteReport::of(Mutation { changed, hash, size, durable, ..facts }, Some(preview)))
    }

    /// The facts of a write that changes nothing.
    fn facts(&self) -> Mutation {
        let size = self.incumbent.map_or(0, |incumbent| incumbent.size);
        let previous_hash = self.incumbent.and_then(|incumbent| incumbent.hash);
        Mutation {
            path: self.place.path().as_str().to_owned(),
            requested: self.requested.clone(),
            created: self.incumbent.is_none(),
            changed: false,
            hash: previous_hash.unwrap_or_else(|| ContentHash::of(b"")),
            previous_hash,
            previous_size: size,
            size,
            durable: None,
            durable_reason: None,
            guarantee: None,
            created_folders: self.place.folders_to_make(),
            warnings: Vec::new(),
        }
    }
}

fn preview_diff(vault: &Vault, place: &Place, incumbent: Option<Incumbent>, new: &[u8]) -> Option<String> {
    let small = |size: u64| size <= DIFF_MAX;
    if !small(new.len() as u64) || !incumbent.is_none_or(|incumbent| small(incumbent.size)) {
        return None;
    }
    let old = match incumbent {
        Some(_) => vault.root().open_file(place).ok()?.look(0..DIFF_MAX, 0).ok()?.bytes,
        None => Vec::new(),
    };
    Some(diff::unified(place.path().as_str(), str::from_utf8(&old).ok()?, str::from_utf8(new).ok()?))
}

fn decode(input: Input, vault: &Vault, cancel: &CancelFlag) -> Result<Content, Error> {
    match input {
        Input::Base64(text) => Ok(Content::Bytes(decode_base64(&text)?)),
        Input::Text(text) => Ok(Content::Bytes(text.into_bytes())),
        Input::SourcePath(path, hash) => {
            let source = Source::open(&vault.files().source_paths, &path, hash)?;
            Ok(Content::File(source))
        }
        Input::HostFile(path, hash) => Source::open_host(&path, hash, cancel),
        Input::Stdin(hash) => Source::stdin(hash, cancel),
    }
}

/// Strict: the standard alphabet, padded, without blanks, line breaks or stray bits at the end (RFC 4648 §3).
fn decode_base64(text: &str) -> Result<Vec<u8>, Error> {
    STANDARD.decode(text).map_err(|error| {
        let offset = match error {
            DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol { offset, .. } => offset,
            DecodeError::InvalidLength(length) => length,
            DecodeError::InvalidPadding => text.len(),
        };
        let data_url = text.starts_with("data:");
        ArgumentsError::InvalidBase64 { offset_in_bytes: offset as u64, data_url }.into()
    })
}

fn known_size(content: &Content) -> Option<u64> {
    match content {
        Content::Bytes(bytes) => Some(bytes.len() as u64),
        Content::File(source) => Some(source.size()),
        Content::Stream(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_strict() {
        for (text, bytes) in [("", &b""[..]), ("QQ==", b"A"), ("AAAA", b"\0\0\0")] {
            assert_eq!(decode_base64(text).unwrap(), bytes);
        }
        for text in ["QQ", "QR==", "QQ==\n", "Q Q=", "-_8=", "QQ==QQ==", "data:image/png;base64,QQ=="] {
            assert_eq!(decode_base64(text).unwrap_err().name(), "invalid_base64", "{text:?}");
        }
    }

    #[test]
    fn a_data_url_is_told_to_drop_its_prefix() {
        let error = decode_base64("data:image/png;base64,QQ==").unwrap_err();
        assert!(error.reason().hint().contains("data:"));
    }

    #[test]
    fn what_is_expected_follows_from_the_arguments() {
        let hash = ContentHash::of(b"x");
        assert_eq!(expect(false, None, true, false), Expect::Absent);
        assert_eq!(expect(true, Some(hash), true, true), Expect::Hash(hash));
        assert_eq!(expect(true, None, true, false), Expect::AnyOrAbsent);
        assert_eq!(expect(true, None, false, true), Expect::Absent);
    }
}
