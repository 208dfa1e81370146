//! Python's cryptography and this plugin agree on every text.

use std::process::Command;

use karmada_scenarios::scenario::{Program, Scenario, embedded, python_with_cryptography};

use kubectl_karmada_shared_fernet::key::Opaque;
use kubectl_karmada_shared_fernet::keyring::Reading;

pub(super) fn scenarios() -> Vec<Scenario> {
    embedded![reads_every_text_as_python_does]
        .into_iter()
        .map(|scenario| scenario.needs(&[Program::PythonWithCryptography]))
        .collect()
}

/// Each text as hexadecimal digits on a line; what it is read as, on another: keys as hexadecimal digits, or `-`.
const ORACLE: &str = "
import base64, sys
from cryptography.fernet import Fernet
for line in sys.stdin:
    text = bytes.fromhex(line.strip()).decode('utf-8')
    try:
        parts = [part.encode('utf-8') for part in text.split(',')]
        [Fernet(part) for part in parts]
        print(','.join(base64.urlsafe_b64decode(part).hex() for part in parts))
    except ValueError:
        print('-')
";

fn reads_every_text_as_python_does() {
    let texts = texts();
    let input: String = texts
        .iter()
        .map(|text| hexadecimal(text.as_bytes()) + "\n")
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts");
    std::fs::write(&file, input).unwrap();
    let output = Command::new(python_with_cryptography().unwrap())
        .args(["-c", ORACLE])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said.len(), texts.len());
    for (text, expected) in texts.iter().zip(said) {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

/// What the plugin reads.
fn read(text: &str) -> String {
    match Reading::of(&Opaque::new(text.as_bytes().to_vec())) {
        Reading::Usable(keyring) => {
            let mut keys: Vec<String> = keyring
                .keys()
                .iter()
                .map(|key| hexadecimal(key.bytes()))
                .collect();
            // Python keeps a key that is in the list twice.
            while keys.len() < text.split(',').count() {
                keys.push(keys[0].clone());
            }
            keys.join(",")
        }
        Reading::Empty | Reading::Rejected(_) => "-".to_owned(),
    }
}

/// Keys that were changed at every place in every odd way, and lists of them.
fn texts() -> Vec<String> {
    let keys = [
        "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=",
        "a0xHc1Q3cFdtQ3h2Tno0UmI5WWZKZDJ1RWg2QXE4U3c=",
    ];
    let odd = [
        "", "=", "==", "+", "/", "-", "_", "A", "\n", "\r\n", " ", "\"", "!", "\u{feff}", "\u{e9}",
        "\u{0}", "AAAA", "=A",
    ];
    let mut texts: Vec<String> = odd.iter().map(|odd| (*odd).to_owned()).collect();
    for key in keys {
        for place in 0..=key.len() {
            for odd in odd {
                texts.push(format!("{}{odd}{}", &key[..place], &key[place..]));
            }
            texts.push(key[..place].to_owned());
            texts.push(key[place..].to_owned());
            if place < key.len() {
                texts.push(format!("{}{}", &key[..place], &key[place + 1..]));
            }
        }
    }
    let [one, other] = keys;
    for list in [
        format!("{one},{other}"),
        format!("{one}, {other}"),
        format!("{one},{other}\n"),
        format!("{one},"),
        format!(",{one}"),
        format!("{one},,{other}"),
        format!("{one},deadbeef"),
        format!("{one};{other}"),
    ] {
        texts.push(list);
    }
    texts
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
