//! The file that says who has which address, to be committed and applied again. Pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

use crate::address::{self, AddressError, Range};

/// What a mesh file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeshFile {
    /// The network's name; `None` = it leaves that open.
    pub network: Option<String>,
    /// The network's subnet; `None` = it leaves that open.
    pub subnet: Option<Ipv4Net>,
    /// The part from which Docker takes addresses by itself; `None` = it leaves that open.
    pub ip_range: Option<Ipv4Net>,
    /// The addresses by container name.
    pub addresses: BTreeMap<String, Ipv4Addr>,
}

/// Why a file is no mesh file.
#[derive(Debug, thiserror::Error)]
pub enum MeshFileError {
    /// It is no YAML of the expected fields.
    #[error("it is no mesh file")]
    Malformed(#[source] Box<serde_saphyr::Error>),
    /// It is of another kind or version.
    #[error("its apiVersion and kind are {0:?} and {1:?}, not {API_VERSION:?} and {KIND:?}")]
    OtherKind(String, String),
    /// A subnet or address cannot be used.
    #[error("{field}: {source}")]
    Address {
        /// Where in the file.
        field: String,
        /// What is wrong with it.
        source: AddressError,
    },
    /// Two containers have one address.
    #[error("{address} is given to both {one} and {other}")]
    Twice {
        /// The address.
        address: Ipv4Addr,
        /// The first container.
        one: String,
        /// The second container.
        other: String,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    api_version: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subnet: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip_range: Option<String>,
    #[serde(default)]
    addresses: BTreeMap<String, String>,
}

impl MeshFile {
    /// Reads a mesh file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<MeshFile, MeshFileError> {
        let document: Document = serde_saphyr::from_str(text)
            .map_err(|error| MeshFileError::Malformed(Box::new(error)))?;
        if document.api_version != API_VERSION || document.kind != KIND {
            return Err(MeshFileError::OtherKind(
                document.api_version,
                document.kind,
            ));
        }
        let in_field = |field: &str| {
            let field = field.to_owned();
            move |source| MeshFileError::Address { field, source }
        };
        let net = |field: &str, text: Option<String>| {
            text.map(|text| address::subnet(&text).map_err(in_field(field)))
                .transpose()
        };
        let mut addresses: BTreeMap<String, Ipv4Addr> = BTreeMap::new();
        for (container, text) in document.addresses {
            let field = format!("addresses.{container}");
            let given = address::address(&text).map_err(in_field(&field))?;
            if let Some((one, _)) = addresses.iter().find(|(_, other)| **other == given) {
                return Err(MeshFileError::Twice {
                    address: given,
                    one: one.clone(),
                    other: container,
                });
            }
            addresses.insert(container, given);
        }
        Ok(MeshFile {
            network: document.network,
            subnet: net("subnet", document.subnet)?,
            ip_range: net("ipRange", document.ip_range)?,
            addresses,
        })
    }

    /// The file of a network and its addresses.
    pub fn of(network: &str, range: &Range, addresses: BTreeMap<String, Ipv4Addr>) -> MeshFile {
        MeshFile {
            network: Some(network.to_owned()),
            subnet: Some(range.subnet),
            ip_range: range.ip_range,
            addresses,
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let document = Document {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            network: self.network.clone(),
            subnet: self.subnet.map(|net| net.to_string()),
            ip_range: self.ip_range.map(|net| net.to_string()),
            addresses: self
                .addresses
                .iter()
                .map(|(container, address)| (container.clone(), address.to_string()))
                .collect(),
        };
        serde_saphyr::to_string(&document)
            .expect("a mesh file has string keys and no value that YAML lacks")
    }
}

const API_VERSION: &str = "karmada-repair/v1";
const KIND: &str = "Mesh";

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
apiVersion: karmada-repair/v1
kind: Mesh
network: karmada-mesh
subnet: 172.28.0.0/24
ipRange: 172.28.0.128/25
addresses:
  k3d-cluster-a-server-0: 172.28.0.11
  k3d-karmada-host-server-0: 172.28.0.10
";

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let file = MeshFile::parse(TEXT).expect("a mesh file");
        assert_eq!(file.network.as_deref(), Some("karmada-mesh"));
        assert_eq!(file.addresses.len(), 2);
        assert_eq!(MeshFile::parse(&file.text()).expect("its own text"), file);
    }

    #[test]
    fn a_file_may_leave_all_but_the_addresses_open() {
        let file = MeshFile::parse("apiVersion: karmada-repair/v1\nkind: Mesh\n");
        assert_eq!(file.expect("a mesh file"), MeshFile::default());
    }

    #[test]
    fn bad_files_are_told_apart() {
        let head = "apiVersion: karmada-repair/v1\nkind: Mesh\n";
        let cases = [
            ("- a".to_owned(), "no mesh file"),
            (String::new(), "no mesh file"),
            (
                "apiVersion: v1\nkind: Pod\n".to_owned(),
                "its apiVersion and kind",
            ),
            (format!("{head}colour: blue\n"), "no mesh file"),
            (format!("{head}subnet: 172.28.0.1/24\n"), "subnet: "),
            (
                format!("{head}addresses: {{a: fd00::1}}\n"),
                "addresses.a: ",
            ),
            (
                format!("{head}addresses: {{a: 172.28.0.9, b: 172.28.0.9}}\n"),
                "given to both a and b",
            ),
        ];
        for (text, expected) in cases {
            let error = MeshFile::parse(&text).expect_err(&text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
