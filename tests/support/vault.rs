//! Vaults from text.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use tempfile::TempDir;
use vaultwright::{
    config::{Args, Config, Environment},
    fs::HostPath,
    serving::State,
};

/// A vault that lives as long as this value, with a folder beside it for what the server keeps.
pub(crate) struct Vault {
    scratch: TempDir,
}

/// Makes a vault of `//- path` headers, each with the text of its file below it.
///
/// `//- path crlf` writes CRLF line ends, `//- path bom` a byte order mark before the text, `//- path base64` the bytes
/// that are spelled; `//- path/` makes an empty folder.
pub(crate) fn vault(text: &str) -> Vault {
    let vault = Vault { scratch: tempfile::tempdir().unwrap() };
    fs::create_dir(vault.path()).unwrap();
    for part in text.split("//- ").skip(1) {
        let (header, body) = part.split_once('\n').unwrap_or((part, ""));
        let mut words = header.split_whitespace();
        let path = words.next().expect("a header names a path");
        vault.put(path, &bytes(body, &words.collect::<Vec<_>>()));
    }
    vault
}

fn bytes(body: &str, kinds: &[&str]) -> Vec<u8> {
    kinds.iter().fold(body.as_bytes().to_vec(), |bytes, kind| match *kind {
        "crlf" => String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into_bytes(),
        "bom" => [b"\xEF\xBB\xBF", &bytes[..]].concat(),
        "base64" => BASE64_STANDARD.decode(bytes.trim_ascii()).expect("base64 below the header"),
        other => panic!("no file is of the kind {other}"),
    })
}

impl Vault {
    /// The vault's folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.scratch.path().join("vault")
    }

    /// Puts a file there behind the server's back; a path that ends with `/` is an empty folder.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        let file = self.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(file).unwrap();
            return;
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// Every file with its bytes and every folder, hidden ones too: for proving that nothing was written.
    pub(crate) fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tree = BTreeMap::new();
        collect(&self.path(), &self.path(), &mut tree);
        tree
    }

    /// A server's state with this vault as its default, reached by nothing else.
    pub(crate) fn state(&self) -> Arc<State> {
        self.state_with(&Args::default())
    }

    /// The same under other settings.
    pub(crate) fn state_with(&self, args: &Args) -> Arc<State> {
        let home = self.scratch.path().join("home");
        let environment = Environment::of([("HOME", home.to_str().unwrap())]);
        let mut config = Config::load(args, &environment).unwrap();
        config.vaults.default = HostPath::parse(self.path());
        Arc::new(State::new(config))
    }
}

fn collect(root: &Path, folder: &Path, tree: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            tree.insert(format!("{name}/"), Vec::new());
            collect(root, &path, tree);
        } else {
            tree.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}

mod tests {
    use super::*;

    #[test]
    fn a_vault_is_as_its_text_says() {
        let vault = vault(
            "//- a.md\n# A\n\n//- dir/b.md crlf\nx\ny\n//- c.md bom crlf\nz\n//- d.bin base64\nAP8=\n//- empty/\n",
        );
        let expected = [
            ("a.md", &b"# A\n\n"[..]),
            ("c.md", b"\xEF\xBB\xBFz\r\n"),
            ("d.bin", b"\x00\xff"),
            ("dir/", b""),
            ("dir/b.md", b"x\r\ny\r\n"),
            ("empty/", b""),
        ];
        let expected = expected.map(|(path, bytes)| (path.to_owned(), bytes.to_vec()));
        assert_eq!(vault.tree(), BTreeMap::from(expected));
    }
}
