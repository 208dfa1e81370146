//! The certificates and credentials of the kubeconfigs that this run uses, and the servers that they lead to.

use karmada_repair::cluster::client::ClusterClient;
use secrecy::ExposeSecret;

use crate::config::address;
use crate::inventory::Inventory;
use crate::material::Expectation;
use crate::observed::{Server, Target, Way};
use crate::place::{Holder, Place};

/// Keeps what a client shows and trusts, and tells which server it leads to; `None` = one that speaks no TLS.
pub fn read(client: &ClusterClient, server: Server, inventory: &mut Inventory) -> Option<Target> {
    let name = match (&server, client.context()) {
        (_, Some(context)) => context.to_owned(),
        (Server::Host, None) => "host".to_owned(),
        (_, None) => "control-plane".to_owned(),
    };
    let holder = Holder::Kubeconfig(name);
    let material = client.material();
    let mut trusted_by: Vec<Place> = Vec::new();
    if let Some(authorities) = &material.authorities {
        let field = "certificate-authority-data";
        inventory.add_trusted(&holder, field, authorities);
        trusted_by.push(holder.at(field));
    }
    if let Some(certificate) = &material.certificate {
        let field = "client-certificate-data";
        inventory.add(&holder, field, certificate, Expectation::Certificate);
    }
    if let Some(key) = &material.key {
        let key = key.expose_secret().as_bytes();
        inventory.add(&holder, "client-key-data", key, Expectation::Key);
    }
    if let Some(token) = &material.token {
        let token = token.expose_secret().as_bytes();
        inventory.add(&holder, "token", token, Expectation::Token);
    }
    material.tls.then(|| Target {
        holder: Holder::Endpoint(address(&material.host, material.port)),
        way: match &material.proxy {
            Some(proxy) => Way::Proxy(proxy.clone()),
            None => Way::Direct,
        },
        host: material
            .server_name
            .clone()
            .unwrap_or_else(|| material.host.clone()),
        dialled: material.host.clone(),
        port: material.port,
        trusted_by,
        verified: !material.insecure,
        named: true,
        server,
    })
}
