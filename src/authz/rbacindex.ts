// Roles and bindings by their subjects, kept current by the log: a decision looks at the grants of one user and
// their groups and at nothing else. @hot: nothing is decoded or put in order unless a role or binding changed.
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from "../api/gen/rbac/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { User } from "../api/user.ts";
import type { Objects, ObjectTable } from "../cache/view/objects.ts";
import { type Grant, Grants, type RulesOf } from "./grants.ts";

/** The grants of one namespace (empty: cluster-wide), by the name of the user or group. */
interface Scope {
  readonly users: Map<string, Grants>;
  readonly groups: Map<string, Grants>;
}

/** The index entries of a binding's subjects, for removal. */
type Place = readonly [list: Map<string, Grants>, subject: string];

type Binding = (ClusterRoleBinding | RoleBinding) & ApiObject;

/** A table of bindings, and the keys that changed since they were looked at. */
interface Followed {
  readonly table: ObjectTable<Binding>;
  /** `namespace/name` to both. */
  readonly changed: Map<string, readonly [namespace: string, name: string]>;
}

const group = "rbac.authorization.k8s.io";

/** Roles and bindings as one front sees them. */
export class RbacIndex {
  readonly #roles: ObjectTable<Role & ApiObject>;
  readonly #clusterRoles: ObjectTable<ClusterRole & ApiObject>;
  readonly #bindings: readonly Followed[];
  readonly #scopes = new Map<string, Scope>();
  /** By `namespace/name`; a cluster-wide binding has no namespace. */
  readonly #places = new Map<string, readonly Place[]>();
  readonly #rulesOf: RulesOf = ({ binding, namespace }) => this.rulesOf(binding.roleRef, namespace);
  /** Grows whenever a role changed. */
  #stamp = 0;

  constructor(objects: Objects) {
    this.#roles = objects.table(group, "v1", "roles");
    this.#clusterRoles = objects.table(group, "v1", "clusterroles");
    this.#bindings = ["clusterrolebindings", "rolebindings"].map((resource) =>
      follow(objects.table(group, "v1", resource)),
    );
  }

  /** Namespaces (and the cluster) that have bindings: for tests. */
  get scopeCount(): number {
    return this.#scopes.size;
  }

  /**
   * Takes in every change acknowledged before the call. Bindings first: a binding that is seen was written after its
   * role, so its role is seen, too.
   */
  refresh(): void {
    for (const { table, changed } of this.#bindings) {
      table.refresh();
      while (changed.size > 0) {
        for (const [key, [namespace, name]] of changed) {
          changed.delete(key);
          this.#replace(key, namespace, table.get(namespace, name));
        }
      }
    }
    this.#stamp = this.#clusterRoles.refresh() + this.#roles.refresh();
  }

  /** Calls `visit` with the grants of a user in a namespace, cluster-wide grants first, until it returns false. */
  visit(user: User, namespace: string, visit: (grants: Grants) => boolean): void {
    if (!this.#visitScope(this.#scopes.get(""), user, visit)) return;
    if (namespace !== "") this.#visitScope(this.#scopes.get(namespace), user, visit);
  }

  #visitScope(scope: Scope | undefined, user: User, visit: (grants: Grants) => boolean): boolean {
    if (scope === undefined) return true;
    if (!this.#visitGrants(scope.users.get(user.name), visit)) return false;
    for (const name of user.groups) if (!this.#visitGrants(scope.groups.get(name), visit)) return false;
    return true;
  }

  #visitGrants(grants: Grants | undefined, visit: (grants: Grants) => boolean): boolean {
    if (grants === undefined) return true;
    grants.update(this.#stamp, this.#rulesOf);
    return visit(grants);
  }

  /** The rules of the role a binding in `namespace` refers to; undefined: there is none. */
  rulesOf(
    role: { readonly kind: string; readonly name: string },
    namespace: string,
  ): readonly PolicyRule[] | undefined {
    const found =
      role.kind === "ClusterRole" ? this.#clusterRoles.get("", role.name) : this.#roles.get(namespace, role.name);
    return found === undefined ? undefined : (found.rules ?? []);
  }

  #replace(key: string, namespace: string, binding: Binding | undefined): void {
    for (const [list, subject] of this.#places.get(key) ?? []) {
      if (list.get(subject)?.remove((grant) => keyOf(grant) === key) === true) list.delete(subject);
    }
    this.#places.delete(key);
    if (binding === undefined) return this.#forget(namespace);
    const scope = this.#scopeOf(namespace);
    const places: Place[] = [];
    const seen = new Set<string>();
    for (const subject of binding.subjects ?? []) {
      const place = placeOf(scope, subject, namespace);
      if (place === undefined) continue;
      const [list, name] = place;
      // A subject that is named again gets nothing more, and must not cost more either.
      const key = `${list === scope.users ? "user" : "group"} ${name}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const grants = list.get(name) ?? new Grants();
      grants.add({ binding, subject, namespace });
      list.set(name, grants);
      places.push(place);
    }
    this.#places.set(key, places);
  }

  /** Namespaces come and go: one without bindings leaves nothing behind. */
  #forget(namespace: string): void {
    const scope = this.#scopes.get(namespace);
    if (scope?.users.size === 0 && scope.groups.size === 0) this.#scopes.delete(namespace);
  }

  #scopeOf(namespace: string): Scope {
    let scope = this.#scopes.get(namespace);
    if (scope === undefined) {
      scope = { users: new Map(), groups: new Map() };
      this.#scopes.set(namespace, scope);
    }
    return scope;
  }
}

function follow(table: ObjectTable<Binding>): Followed {
  const changed: Followed["changed"] = new Map();
  const mark = (namespace: string, name: string): void => void changed.set(`${namespace}/${name}`, [namespace, name]);
  // The table may be in use already and contain objects that cause no change events.
  for (const { metadata } of table.all()) mark(metadata.namespace ?? "", metadata.name ?? "");
  table.onChange(mark);
  return { table, changed };
}

function keyOf({ namespace, binding }: Grant): string {
  return `${namespace}/${binding.metadata.name ?? ""}`;
}

/** The index entry of a subject; undefined: it names none. A service account is a user by its long name. */
function placeOf(scope: Scope, subject: Subject, namespace: string): Place | undefined {
  switch (subject.kind) {
    case "User":
      return [scope.users, subject.name];
    case "Group":
      return [scope.groups, subject.name];
    case "ServiceAccount": {
      const home = (subject.namespace ?? "") || namespace;
      return home === "" ? undefined : [scope.users, `system:serviceaccount:${home}:${subject.name}`];
    }
    default:
      return undefined;
  }
}
