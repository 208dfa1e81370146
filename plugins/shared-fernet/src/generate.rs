//! New keys as texts for Helm and for kubectl. Pure.

use zeroize::Zeroizing;

use crate::airflow::KeyKind;
use crate::config::{AirflowVersion, Generate};

/// A new key.
pub struct NewKey {
    /// Which one.
    pub kind: KeyKind,
    /// Its text.
    pub text: Zeroizing<String>,
}

/// A file that is to be written.
pub struct NewFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its content.
    pub content: Zeroizing<String>,
}

/// The kinds of keys that a version needs.
pub fn kinds(airflow: AirflowVersion) -> &'static [KeyKind] {
    match airflow {
        AirflowVersion::Two => &[KeyKind::Fernet, KeyKind::Webserver],
        AirflowVersion::Three => &[KeyKind::Fernet, KeyKind::Api, KeyKind::Jwt],
    }
}

/// A values file of the official chart with the keys themselves.
pub fn values(keys: &[NewKey]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(4096));
    text.push_str("# Keys for the official Airflow chart, the same in every cluster that uses the same database.\n");
    text.push_str("# Whoever has this file can read the connections in that database.\n");
    for key in keys {
        text.push_str(key.kind.chart_value());
        text.push_str(": \"");
        text.push_str(&key.text);
        text.push_str("\"\n");
    }
    text
}

/// A Secret for each key, and the values that name them to the chart.
pub fn manifests(keys: &[NewKey], options: &Generate) -> Vec<NewFile> {
    let mut files: Vec<NewFile> = keys
        .iter()
        .map(|key| NewFile {
            name: format!("{}.yaml", secret_name(key.kind, options)),
            content: manifest(key, options),
        })
        .collect();
    let mut names = String::from(
        "# For the official Airflow chart: it takes the keys from Secrets that are not its own, so that no install, upgrade or\n# sync of Helm or Argo CD replaces them.\n",
    );
    for key in keys {
        names.push_str(&format!(
            "{}: {}\n",
            key.kind.chart_secret_value(),
            secret_name(key.kind, options)
        ));
    }
    files.push(NewFile {
        name: "values.yaml".to_owned(),
        content: Zeroizing::new(names),
    });
    files
}

/// The name of the Secret of a key.
pub fn secret_name(kind: KeyKind, options: &Generate) -> String {
    format!("{}-{}", options.name, kind.name())
}

fn manifest(key: &NewKey, options: &Generate) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(4096));
    text.push_str(&format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {}\n  namespace: {}\ntype: Opaque\nstringData:\n  {}: \"",
        secret_name(key.kind, options),
        options.namespace,
        key.kind.name()
    ));
    text.push_str(&key.text);
    text.push_str("\"\n");
    text
}
