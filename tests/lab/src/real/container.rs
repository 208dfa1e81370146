//! Containers of clusters, and strangers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::dockerd::IMAGE;
use super::engine::Engine;
use super::{entry, node, parts};
use crate::docker::daemon::Container;
use crate::docker::failure::Failure;
use crate::docker::network::Network;

/// Makes a network as it is modelled.
pub(super) async fn make_network(engine: &Engine, network: &Network) -> Result<(), Failure> {
    let mut wish = json!({
        "Name": network.name, "CheckDuplicate": true, "Driver": "bridge", "Labels": network.labels, "Options": network.options,
    });
    // Elsewhere the daemon chooses, and addresses cannot be pinned.
    if let Some(subnet) = network.subnet.filter(|_| network.user_subnet) {
        let gateway = network.gateway.map(|gateway| gateway.to_string());
        wish["IPAM"] = json!({"Config": [{"Subnet": subnet.to_string(), "Gateway": gateway}]});
    }
    engine.post("/networks/create", &wish).await.map(|_| ())
}

/// Makes and starts the container of a node as it is modelled; `folder` is what it shares with the lab.
pub(super) async fn run_node(
    engine: &Engine,
    container: &Container,
    folder: &Path,
) -> Result<(), Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::new(0, error.to_string()))?;
    let part = |name: &str| parts::part(name).map_err(|missing| Failure::new(0, missing));
    let binds = [
        "/usr:/usr:ro".to_owned(),
        format!("{}:/karmada-lab:ro", own.display()),
        format!("{}:/etcd:ro", part("etcd")?.display()),
        format!("{}:/kube-apiserver:ro", part("kube-apiserver")?.display()),
        format!("{}:{}", folder.display(), node::FOLDER),
    ];
    let mut ports = Map::new();
    let mut bindings = Map::new();
    for binding in &container.bindings {
        let port = format!("{}/tcp", binding.container_port);
        let published =
            json!([{"HostIp": binding.host_address, "HostPort": binding.host_port.to_string()}]);
        ports.insert(port.clone(), json!({}));
        bindings.insert(port, published);
    }
    let network = &container.network_mode;
    let endpoint = &container.endpoints[network];
    let mut attachment = json!({});
    if let Some(address) = endpoint.configured {
        attachment["IPAMConfig"] = json!({"IPv4Address": address.to_string()});
    }
    let (repository, tag) = container
        .image
        .split_once(':')
        .unwrap_or((&container.image, "latest"));
    let path = format!("/images/{IMAGE}/tag?repo={repository}&tag={tag}");
    engine.post(&path, &Value::Null).await?;
    let wish = json!({
        "Image": container.image, "Cmd": ["/karmada-lab", entry::NODE], "Hostname": container.name,
        "Labels": container.labels, "Env": container.environment, "ExposedPorts": ports, "Tty": false,
        "HostConfig": {"Binds": binds, "PortBindings": bindings, "NetworkMode": network},
        "NetworkingConfig": {"EndpointsConfig": {network: attachment}},
    });
    run(engine, &container.name, &wish).await
}

/// Makes and starts a container that does nothing, and perhaps publishes port 6443.
pub(super) async fn run_stranger(
    engine: &Engine,
    name: &str,
    network: &str,
    published: Option<u16>,
) -> Result<(), Failure> {
    let mut wish = json!({
        "Image": IMAGE, "Cmd": ["/usr/bin/sleep", "infinity"], "StopSignal": "SIGKILL",
        "HostConfig": {"Binds": ["/usr:/usr:ro"], "NetworkMode": network},
    });
    if let Some(port) = published {
        wish["ExposedPorts"] = json!({"6443/tcp": {}});
        wish["HostConfig"]["PortBindings"] =
            json!({"6443/tcp": [{"HostIp": "0.0.0.0", "HostPort": port.to_string()}]});
    }
    run(engine, name, &wish).await
}

async fn run(engine: &Engine, name: &str, wish: &Value) -> Result<(), Failure> {
    engine
        .post(&format!("/containers/create?name={name}"), wish)
        .await?;
    engine
        .post(&format!("/containers/{name}/start"), &Value::Null)
        .await
        .map(|_| ())
}

/// Removes all containers, and all networks but those that every daemon has.
pub(super) async fn clear(engine: &Engine) -> Result<(), Failure> {
    let containers = engine.get("/containers/json?all=true").await?;
    let removed = containers
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| {
            let path = format!(
                "/containers/{}?force=true&v=true",
                container["Id"].as_str().unwrap_or_default()
            );
            async move { engine.delete(&path).await }
        });
    futures::future::try_join_all(removed).await?;
    let networks = engine.get("/networks").await?;
    for network in networks.as_array().into_iter().flatten() {
        let name = network["Name"].as_str().unwrap_or_default();
        if !["bridge", "host", "none"].contains(&name) {
            engine.delete(&format!("/networks/{name}")).await?;
        }
    }
    Ok(())
}
