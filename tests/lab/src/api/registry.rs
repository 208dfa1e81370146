//! Reading and writing objects with the rules of the API server, above the plain store.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::apply::{self, Applier};
use super::controllers;
use super::fields::{self, Operation, Owner};
use super::kinds::Kind;
use super::patch::{self, Patch};
use super::refusal::Refusal;
use super::selectors::Selection;
use super::store::{Key, Store};
use super::strategy;
use crate::lock::lock;

/// The objects of one API server.
pub(crate) struct Registry {
    store: Mutex<Store>,
    surroundings: controllers::Surroundings,
}

/// What addresses an object or one of its subresources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// `""` or `"status"`.
    pub(crate) subresource: &'a str,
}

/// How to write.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) dry_run: bool,
    pub(crate) manager: String,
    pub(crate) force: bool,
}

impl<'a> Address<'a> {
    pub(crate) fn of(kind: &'static Kind, namespace: &'a str, name: &'a str) -> Self {
        Self {
            kind,
            namespace,
            name,
            subresource: "",
        }
    }

    fn key(&self) -> Key {
        Key::new(self.kind, self.namespace, self.name)
    }
}

impl Registry {
    pub(crate) fn new(surroundings: controllers::Surroundings) -> Self {
        Self {
            store: Mutex::new(Store::new()),
            surroundings,
        }
    }

    /// Gives the store itself, for what reads across kinds.
    pub(crate) fn with_store<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&lock(&self.store))
    }

    /// All objects of one kind, in a form that [`Registry::restore`] takes.
    pub(crate) fn snapshot(&self, kind: &'static Kind) -> Value {
        let store = lock(&self.store);
        let objects: Vec<&Value> = store.list(kind, None).collect();
        json!({"revision": store.revision(), "objects": objects})
    }

    /// Puts the objects of a kind back as another process left them.
    pub(crate) fn restore(&self, kind: &'static Kind, snapshot: &Value) {
        let mut store = lock(&self.store);
        store.skip_to(snapshot["revision"].as_u64().unwrap_or_default());
        for object in snapshot["objects"].as_array().into_iter().flatten() {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            let key = Key::new(kind, text("namespace"), text("name"));
            store.write(kind, key, object.clone());
        }
    }

    pub(crate) fn read(&self, address: Address) -> Result<Value, Refusal> {
        let store = lock(&self.store);
        store
            .read(&address.key())
            .cloned()
            .ok_or_else(|| Refusal::not_found(address.kind, address.name))
    }

    /// The selected objects and the revision they were read at.
    pub(crate) fn list(
        &self,
        kind: &'static Kind,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> (Vec<Value>, u64) {
        let store = lock(&self.store);
        (
            store
                .list(kind, namespace)
                .filter(|object| selection.matches(object))
                .cloned()
                .collect(),
            store.revision(),
        )
    }

    pub(crate) fn create(
        &self,
        kind: &'static Kind,
        namespace: &str,
        mut object: Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        let mut store = lock(&self.store);
        check_shape(kind, &object)?;
        let name = name_of_new(kind, &mut object)?;
        let address = Address::of(kind, namespace, &name);
        let in_body = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or(namespace);
        if kind.namespaced && in_body != namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if kind.namespaced {
            require_namespace(&store, namespace)?;
            object["metadata"]["namespace"] = json!(namespace);
        }
        if store.read(&address.key()).is_some() {
            return Err(Refusal::already_exists(kind, &name));
        }
        strategy::prepare_create(kind, &mut object);
        strategy::validate(kind, &object)?;
        let system = object["metadata"]
            .as_object_mut()
            .expect("the name was found in it");
        for field in [
            "resourceVersion",
            "managedFields",
            "selfLink",
            "deletionTimestamp",
        ] {
            system.remove(field);
        }
        system.insert("uid".to_owned(), json!(crate::random::uuid()));
        system.insert("creationTimestamp".to_owned(), json!(now()));
        if kind.generation {
            system.insert("generation".to_owned(), json!(1));
        }
        fields::track_update(
            &json!({"metadata": {}}),
            &mut object,
            updater(&address, options),
        );
        self.finish(&mut store, &address, object, options)
    }

    pub(crate) fn update(
        &self,
        address: Address,
        object: Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        let mut store = lock(&self.store);
        let before = store
            .read(&address.key())
            .cloned()
            .ok_or_else(|| Refusal::not_found(address.kind, address.name))?;
        check_shape(address.kind, &object)?;
        if object["metadata"]["name"]
            .as_str()
            .is_some_and(|name| name != address.name)
        {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                object["metadata"]["name"].as_str().unwrap_or_default(),
                address.name
            )));
        }
        self.replace(&mut store, &address, &before, object, options)
    }

    /// The patched object, and whether an apply created it.
    pub(crate) fn patch(
        &self,
        address: Address,
        patch: Patch,
        options: &Options,
    ) -> Result<(Value, bool), Refusal> {
        let before = self.with_store(|store| store.read(&address.key()).cloned());
        if let (None, Patch::Apply(configuration)) = (&before, &patch) {
            return self
                .create_by_apply(address, configuration, options)
                .map(|object| (object, true));
        }
        let mut store = lock(&self.store);
        let before = store
            .read(&address.key())
            .cloned()
            .ok_or_else(|| Refusal::not_found(address.kind, address.name))?;
        let after = match &patch {
            Patch::Json(operations) => patch::json(&before, operations)?,
            Patch::Merge(changes) => patch::merge(&before, changes),
            Patch::Strategic(changes) => patch::strategic(&before, changes),
            Patch::Apply(configuration) => {
                check_shape(address.kind, configuration)?;
                let uid = &configuration["metadata"]["uid"];
                if !uid.is_null() && *uid != before["metadata"]["uid"] {
                    let cause = (
                        "metadata.uid".to_owned(),
                        format!("Invalid value: {uid}: field is immutable"),
                    );
                    return Err(Refusal::invalid(address.kind, address.name, &[cause]));
                }
                let owner = Owner {
                    operation: Operation::Apply,
                    ..updater(&address, options)
                };
                let after = apply::apply(
                    &before,
                    configuration,
                    Applier {
                        owner,
                        force: options.force,
                    },
                )?;
                return self
                    .replace_applied(&mut store, &address, &before, after, options)
                    .map(|object| (object, false));
            }
        };
        self.replace(&mut store, &address, &before, after, options)
            .map(|object| (object, false))
    }

    /// Deletes, or marks as being deleted when finalizers remain. Returns the last state.
    pub(crate) fn delete(
        &self,
        address: Address,
        preconditions: &Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        let mut store = lock(&self.store);
        let mut object = store
            .read(&address.key())
            .cloned()
            .ok_or_else(|| Refusal::not_found(address.kind, address.name))?;
        for field in ["uid", "resourceVersion"] {
            let (wanted, found) = (&preconditions[field], &object["metadata"][field]);
            if !wanted.is_null() && wanted != found {
                let cause = format!(
                    "the {field} in the precondition ({wanted}) does not match the {field} in record ({found}). The object might have been deleted and then recreated"
                );
                return Err(Refusal::conflict(
                    address.kind,
                    address.name,
                    &cause.replace('"', ""),
                ));
            }
        }
        if options.dry_run {
            return Ok(object);
        }
        let held = object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|finalizers| !finalizers.is_empty());
        if held {
            if object["metadata"]["deletionTimestamp"].is_null() {
                object["metadata"]["deletionTimestamp"] = json!(now());
                object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                object = store.write(address.kind, address.key(), object);
            }
            return Ok(object);
        }
        store.remove(address.kind, &address.key());
        controllers::after_delete(&mut store, address.kind, &object);
        Ok(object)
    }

    fn create_by_apply(
        &self,
        address: Address,
        configuration: &Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        if !address.subresource.is_empty() {
            return Err(Refusal::not_found(address.kind, address.name));
        }
        if let Some(uid) = configuration["metadata"]["uid"].as_str() {
            let cause = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Refusal::conflict(address.kind, address.name, &cause));
        }
        let owner = Owner {
            operation: Operation::Apply,
            ..updater(&address, options)
        };
        let mut object = configuration.clone();
        object["metadata"]["name"] = json!(address.name);
        let dry = Options {
            dry_run: true,
            ..options.clone()
        };
        let mut created = self.create(address.kind, address.namespace, object, &dry)?;
        fields::set_owners(
            &mut created,
            &[Owner {
                fields: fields::flatten(configuration).into_keys().collect(),
                ..owner
            }],
        );
        let mut store = lock(&self.store);
        self.finish(&mut store, &address, created, options)
    }

    fn replace(
        &self,
        store: &mut Store,
        address: &Address,
        before: &Value,
        mut after: Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        let sent = &after["metadata"]["resourceVersion"];
        if sent.as_str().is_some_and(|sent| !sent.is_empty())
            && *sent != before["metadata"]["resourceVersion"]
        {
            return Err(Refusal::modified(address.kind, address.name));
        }
        keep_what_the_server_owns(address, before, &mut after);
        fields::track_update(before, &mut after, updater(address, options));
        self.replace_applied(store, address, before, after, options)
    }

    fn replace_applied(
        &self,
        store: &mut Store,
        address: &Address,
        before: &Value,
        mut after: Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        keep_what_the_server_owns(address, before, &mut after);
        strategy::prepare_update(address.kind, &mut after);
        strategy::validate_update(address.kind, before, &after)?;
        if address.kind.generation
            && address.subresource.is_empty()
            && content(before) != content(&after)
        {
            let generation = before["metadata"]["generation"].as_u64().unwrap_or(1);
            after["metadata"]["generation"] = json!(generation + 1);
        }
        if without_times(before) == without_times(&after) {
            return Ok(before.clone());
        }
        let released = after["metadata"]["finalizers"]
            .as_array()
            .is_none_or(Vec::is_empty);
        if !after["metadata"]["deletionTimestamp"].is_null() && released && !options.dry_run {
            store.remove(address.kind, &address.key());
            controllers::after_delete(store, address.kind, &after);
            return Ok(after);
        }
        self.finish(store, address, after, options)
    }

    fn finish(
        &self,
        store: &mut Store,
        address: &Address,
        mut object: Value,
        options: &Options,
    ) -> Result<Value, Refusal> {
        object["apiVersion"] = json!(address.kind.api_version());
        object["kind"] = json!(address.kind.kind);
        if options.dry_run {
            return Ok(object);
        }
        let written = store.write(address.kind, address.key(), object);
        controllers::after_write(store, &self.surroundings, address.kind, &written);
        Ok(store.read(&address.key()).cloned().unwrap_or(written))
    }
}

/// The manager of a write whose request names none: the User-Agent up to its first slash.
pub(crate) fn default_manager(user_agent: &str) -> String {
    user_agent
        .split('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("unknown")
        .to_owned()
}

/// The current time as the API server writes it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

fn check_shape(kind: &Kind, object: &Value) -> Result<(), Refusal> {
    if !object.is_object() {
        return Err(Refusal::bad_request(
            "the object provided is unrecognized (must be of type object)",
        ));
    }
    let (version, name) = (object["apiVersion"].as_str(), object["kind"].as_str());
    if version.is_some_and(|version| version != kind.api_version()) {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            version.unwrap_or_default(),
            kind.api_version()
        )));
    }
    if name.is_some_and(|name| name != kind.kind) {
        return Err(Refusal::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}",
            name.unwrap_or_default(),
            kind.version,
            kind.kind
        )));
    }
    for (key, value) in object["data"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|_| kind.resource == "secrets")
    {
        use base64::Engine as _;
        let valid = value.is_null()
            || value.as_str().is_some_and(|text| {
                base64::engine::general_purpose::STANDARD
                    .decode(text.replace(['\n', '\r'], ""))
                    .is_ok()
            });
        if !valid {
            return Err(Refusal::bad_request(format!(
                "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 0 (data[{key}])"
            )));
        }
    }
    Ok(())
}

fn name_of_new(kind: &Kind, object: &mut Value) -> Result<String, Refusal> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    if metadata["name"].is_null()
        && let Some(prefix) = metadata["generateName"].as_str()
    {
        metadata["name"] = json!(format!("{prefix}{}", crate::random::hexadecimal(5)));
    }
    let name = metadata["name"].as_str().unwrap_or_default().to_owned();
    if name.is_empty() {
        let cause = (
            "metadata.name".to_owned(),
            "Required value: name or generateName is required".to_owned(),
        );
        return Err(Refusal::invalid(kind, "", &[cause]));
    }
    Ok(name)
}

fn require_namespace(store: &Store, namespace: &str) -> Result<(), Refusal> {
    let namespaces = super::kinds::known("", "namespaces");
    match store.read(&Key::new(namespaces, "", namespace)) {
        Some(_) => Ok(()),
        None => Err(Refusal::not_found(namespaces, namespace)),
    }
}

/// Restores what a client cannot change through this address: identity always, status or everything else by subresource.
fn keep_what_the_server_owns(address: &Address, before: &Value, after: &mut Value) {
    if address.subresource == "status" {
        let (status, owners) = (
            after["status"].take(),
            after["metadata"]["managedFields"].take(),
        );
        *after = before.clone();
        after["status"] = status;
        after["metadata"]["managedFields"] = owners;
    } else if address.kind.has_status() {
        match before.get("status") {
            Some(status) => after["status"] = status.clone(),
            None => {
                after.as_object_mut().map(|fields| fields.remove("status"));
            }
        }
    }
    for field in [
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "name",
        "namespace",
    ] {
        let missing = after["metadata"][field].is_null();
        let system = matches!(
            field,
            "resourceVersion" | "creationTimestamp" | "generation" | "deletionTimestamp"
        );
        if let (true, Some(value)) = (missing || system, before["metadata"].get(field)) {
            after["metadata"][field] = value.clone();
        } else if missing {
            after["metadata"]
                .as_object_mut()
                .map(|fields| fields.remove(field));
        }
    }
    // Managers are the server's: a client that sends none leaves them as they are.
    if after["metadata"]["managedFields"].is_null() {
        match before["metadata"].get("managedFields") {
            Some(owners) => after["metadata"]["managedFields"] = owners.clone(),
            None => {
                after["metadata"]
                    .as_object_mut()
                    .map(|fields| fields.remove("managedFields"));
            }
        }
    }
}

fn updater(address: &Address, options: &Options) -> Owner {
    Owner {
        manager: options.manager.clone(),
        operation: Operation::Update,
        subresource: address.subresource.to_owned(),
        version: address.kind.api_version(),
        time: now(),
        fields: Default::default(),
    }
}

/// What generation counts: everything but metadata and status.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        for name in ["metadata", "status", "apiVersion", "kind"] {
            fields.remove(name);
        }
    }
    content
}

/// The object without the times of its managers, so that a write that changes nothing is seen as such.
fn without_times(object: &Value) -> Value {
    let mut object = object.clone();
    for entry in object["metadata"]["managedFields"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        entry["time"] = Value::Null;
    }
    object
}
