//! Contents that tell by themselves whether they are whole, whose they are and which version.

use vaultwright::text::ContentHash;

/// What a whole content says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    pub name: String,
    pub version: u64,
}

/// A content of at least that many bytes: a line with the hash of all that follows, name and version, filler.
pub fn seal(name: &str, version: u64, size: usize) -> Vec<u8> {
    let mut body = format!("{name}\n{version}\n").into_bytes();
    let mut line = 0_u64;
    while body.len() < size {
        body.extend_from_slice(format!("{line} of {version} in {name}\n").as_bytes());
        line += 1;
    }
    [format!("{}\n", ContentHash::of(&body)).as_bytes(), &body].concat()
}

/// Reads a content's seal; none for one that is torn.
pub fn unseal(bytes: &[u8]) -> Option<Seal> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (hash, body) = text.split_once('\n')?;
    if ContentHash::of(body.as_bytes()).to_string() != hash {
        return None;
    }
    let mut lines = body.lines();
    Some(Seal { name: lines.next()?.to_owned(), version: lines.next()?.parse().ok()? })
}

#[test]
fn a_cut_content_has_no_seal() {
    let bytes = seal("a.md", 7, 3000);
    assert_eq!(unseal(&bytes), Some(Seal { name: "a.md".into(), version: 7 }));
    assert_eq!(unseal(&bytes[..bytes.len() - 1]), None);
    assert_eq!(unseal(b""), None);
    let zeroed = [&bytes[..1000], &vec![0; bytes.len() - 1000]].concat();
    assert_eq!(unseal(&zeroed), None);
}
