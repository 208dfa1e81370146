//! Where the containers of a pod template get their keys from. Pure.
//!
//! Airflow asks for an option in this order: the variable, the variable with `_CMD`, the one with `_SECRET`, then its
//! configuration file. Kubernetes lets `env` win over `envFrom`, and the later entry over the earlier one.

use serde::Serialize;
use serde_json::Value;

use crate::airflow::{KeyKind, WRONG_VARIABLES};
use crate::key::Opaque;

/// Where a container gets a key from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Source {
    /// A key of a Secret in the namespace of the pod.
    SecretKey(SecretKey),
    /// A key of a ConfigMap, which is no place for one.
    ConfigMapKey {
        /// The ConfigMap.
        name: String,
        /// The key in it.
        key: String,
        /// Whether the container starts without it.
        optional: bool,
    },
    /// The pod template itself.
    Template {
        /// The value.
        value: Opaque,
    },
    /// What a command prints that cannot be followed.
    Command {
        /// The variable that holds the command.
        variable: String,
    },
    /// Airflow's secrets backend.
    Backend {
        /// The variable that names the entry.
        variable: String,
    },
}

/// A key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SecretKey {
    /// The Secret.
    pub secret: String,
    /// The key in it.
    pub key: String,
    /// Whether the container starts without it, so that what comes next counts.
    pub optional: bool,
}

/// A template of pods, or a pod.
#[derive(Debug, Clone, Copy)]
pub struct Template<'a> {
    labels: &'a Value,
    spec: &'a Value,
}

impl<'a> Template<'a> {
    /// The template of a workload (`spec.template`), or a pod itself: both have `metadata` and `spec`.
    pub fn of(object: &'a Value) -> Template<'a> {
        Template {
            labels: &object["metadata"]["labels"],
            spec: &object["spec"],
        }
    }

    /// Whether it runs Airflow.
    pub fn is_airflow(&self) -> bool {
        let label = |name: &str, value: &str| self.labels[name].as_str() == Some(value);
        label("tier", "airflow")
            || label("app.kubernetes.io/name", "airflow")
            || label("app", "airflow")
            || self.containers().any(|container| {
                let image = container["image"].as_str().unwrap_or_default();
                let name = image.rsplit('/').next().unwrap_or_default();
                name.starts_with("airflow")
                    || entries(&container["env"])
                        .any(|entry| text(&entry["name"]).starts_with("AIRFLOW_"))
            })
    }

    /// The release by the labels of charts; `None` = they name none.
    pub fn release(&self) -> Option<&'a str> {
        self.labels["release"]
            .as_str()
            .or_else(|| self.labels["app.kubernetes.io/instance"].as_str())
    }

    /// The component by the labels of charts, as `scheduler`.
    pub fn component(&self) -> Option<&'a str> {
        self.labels["component"]
            .as_str()
            .or_else(|| self.labels["app.kubernetes.io/component"].as_str())
    }

    /// Whether it starts a pod for each task: its executor is, or includes, the one of Kubernetes.
    pub fn launches_pods(&self) -> bool {
        let named = |text: &str| text.contains("Kubernetes");
        self.labels["executor"].as_str().is_some_and(named)
            || self
                .containers()
                .filter_map(|container| plain(container, "AIRFLOW__CORE__EXECUTOR"))
                .any(named)
    }

    /// For each container that takes the key from somewhere: its name, and the places in the order in which they count.
    /// A place that is optional and absent yields to the next one.
    pub fn sources(&self, kind: KeyKind) -> Vec<(&'a str, Vec<Source>)> {
        self.containers()
            .map(|container| {
                let name = container["name"].as_str().unwrap_or_default();
                (name, self.sources_of(container, kind))
            })
            .filter(|(_, sources)| !sources.is_empty())
            .collect()
    }

    /// Variables that look like one of Airflow's and are none, with the one that was meant.
    pub fn wrong_variables(&self) -> Vec<(&'static str, KeyKind)> {
        let is_set = |variable: &str| {
            self.containers().any(|container| {
                entries(&container["env"]).any(|entry| entry["name"].as_str() == Some(variable))
            })
        };
        WRONG_VARIABLES
            .into_iter()
            .filter(|(variable, _)| is_set(variable))
            .collect()
    }

    /// The container that a command for Airflow is best run in.
    pub fn main_container(&self) -> Option<&'a str> {
        let with_key = self.sources(KeyKind::Fernet);
        let component = self.component();
        with_key
            .iter()
            .find(|(name, _)| Some(*name) == component)
            .or(with_key.first())
            .map(|(name, _)| *name)
    }

    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        entries(&self.spec["containers"])
    }

    fn sources_of(&self, container: &'a Value, kind: KeyKind) -> Vec<Source> {
        let variable = kind.variable();
        let mut sources = Vec::new();
        self.look_up(container, variable, &mut sources);
        if let Some(bitnami) = kind.variable_of_bitnami() {
            sources.extend(entry(container, bitnami).and_then(of_entry));
            if let Some(path) = plain(container, &format!("{bitnami}_FILE")) {
                sources.extend(self.file(container, path));
            }
        }
        let command = format!("{variable}_CMD");
        if let Some(words) = plain(container, &command) {
            let file = words
                .trim()
                .strip_prefix("cat ")
                .and_then(|path| self.file(container, path.trim()));
            sources.push(file.unwrap_or(Source::Command { variable: command }));
        } else if entry(container, &command).is_some() {
            sources.push(Source::Command { variable: command });
        }
        let backend = format!("{variable}_SECRET");
        if entry(container, &backend).is_some() {
            sources.push(Source::Backend { variable: backend });
        }
        let last = sources.iter().position(|source| !source.is_optional());
        sources.truncate(last.map_or(sources.len(), |last| last + 1));
        sources
    }

    /// Adds where a variable comes from.
    fn look_up(&self, container: &'a Value, variable: &str, sources: &mut Vec<Source>) {
        if let Some(entry) = entry(container, variable) {
            sources.extend(of_entry(entry));
            // A variable that is set hides `envFrom`, unless what it refers to is optional.
            if !sources.last().is_none_or(Source::is_optional) {
                return;
            }
        }
        let mut from: Vec<&Value> = entries(&container["envFrom"]).collect();
        from.reverse();
        for from in from {
            let prefix = from["prefix"].as_str().unwrap_or_default();
            let Some(key) = variable.strip_prefix(prefix) else {
                continue;
            };
            let name = |reference: &str| from[reference]["name"].as_str().map(str::to_owned);
            if let Some(secret) = name("secretRef") {
                sources.push(Source::SecretKey(SecretKey {
                    secret,
                    key: key.to_owned(),
                    optional: true,
                }));
            } else if let Some(name) = name("configMapRef") {
                sources.push(Source::ConfigMapKey {
                    name,
                    key: key.to_owned(),
                    optional: true,
                });
            }
        }
    }

    /// The key of a Secret that is mounted at this path.
    fn file(&self, container: &Value, path: &str) -> Option<Source> {
        let mount = entries(&container["volumeMounts"])
            .filter(|mount| {
                let at = text(&mount["mountPath"]).trim_end_matches('/');
                path == at
                    || path
                        .strip_prefix(at)
                        .is_some_and(|rest| rest.starts_with('/'))
            })
            .max_by_key(|mount| text(&mount["mountPath"]).len())?;
        let at = text(&mount["mountPath"]).trim_end_matches('/');
        let rest = path.strip_prefix(at)?.trim_start_matches('/');
        let sub_path = mount["subPath"].as_str().unwrap_or_default();
        let inside = [sub_path, rest]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        let volume = entries(&self.spec["volumes"])
            .find(|volume| volume["name"].is_string() && volume["name"] == mount["name"])?;
        let secret = volume["secret"]["secretName"].as_str()?;
        let items: Vec<&Value> = entries(&volume["secret"]["items"]).collect();
        let key = match items.is_empty() {
            true => inside,
            false => items
                .into_iter()
                .find(|item| text(&item["path"]) == inside)
                .map(|item| text(&item["key"]).to_owned())?,
        };
        Some(Source::SecretKey(SecretKey {
            secret: secret.to_owned(),
            key,
            optional: volume["secret"]["optional"] == true,
        }))
    }
}

impl Source {
    /// Whether the container starts without it.
    pub fn is_optional(&self) -> bool {
        match self {
            Source::SecretKey(key) => key.optional,
            Source::ConfigMapKey { optional, .. } => *optional,
            Source::Template { .. } | Source::Command { .. } | Source::Backend { .. } => false,
        }
    }

    /// What is meant, without a value.
    pub fn place(&self, namespace: &str) -> String {
        match self {
            Source::SecretKey(SecretKey { secret, key, .. }) => {
                format!("secret/{namespace}/{secret} key {key}")
            }
            Source::ConfigMapKey { name, key, .. } => {
                format!("configmap/{namespace}/{name} key {key}")
            }
            Source::Template { .. } => "the pod template".to_owned(),
            Source::Command { variable } => format!("the command of {variable}"),
            Source::Backend { variable } => format!("the secrets backend ({variable})"),
        }
    }
}

/// The last entry of this name counts.
fn entry<'a>(container: &'a Value, variable: &str) -> Option<&'a Value> {
    entries(&container["env"])
        .filter(|entry| entry["name"].as_str() == Some(variable))
        .last()
}

fn of_entry(entry: &Value) -> Option<Source> {
    let from = &entry["valueFrom"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(secret) = text(&from["secretKeyRef"]["name"]) {
        return Some(Source::SecretKey(SecretKey {
            secret,
            key: text(&from["secretKeyRef"]["key"])?,
            optional: from["secretKeyRef"]["optional"] == true,
        }));
    }
    if let Some(name) = text(&from["configMapKeyRef"]["name"]) {
        return Some(Source::ConfigMapKey {
            name,
            key: text(&from["configMapKeyRef"]["key"])?,
            optional: from["configMapKeyRef"]["optional"] == true,
        });
    }
    // A variable that is set and empty is the same as the value "".
    let value = entry["value"].as_str().unwrap_or_default();
    Some(Source::Template {
        value: Opaque::new(value.as_bytes().to_vec()),
    })
}

/// The value of a variable that is written in the template.
fn plain<'a>(container: &'a Value, variable: &str) -> Option<&'a str> {
    entry(container, variable)?["value"].as_str()
}

fn entries(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
