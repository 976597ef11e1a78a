// Random roles and bindings come, change and go; after each change RBAC must decide as a model that looks at all of
// them, one after the other.
import t from "tap";
import { Rbac } from "../../src/authz/rbac.ts";
import { openInProcess } from "../support/inprocess.ts";
import { draws, fuzzRun } from "../support/random.ts";

const apiGroup = "rbac.authorization.k8s.io";
const api = `/apis/${apiGroup}/v1`;
const namespaces = ["default", "kube-system"];
const names = ["a", "b", "constructor", "__proto__"];
const verbs = ["get", "list", "*"];
const resources = ["pods", "pods/log", "*/log", "*", "nodes"];
const questions = 25;

interface Rule {
  readonly verbs: string[];
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly resourceNames?: string[];
}

interface Binding {
  readonly kind: "Role" | "ClusterRole";
  readonly role: string;
  readonly subjects: { kind: string; name: string; namespace?: string; apiGroup?: string }[];
}

t.test("RBAC decides as a model that looks at everything", async (t) => {
  const { seed, rounds: steps } = fuzzRun(250);
  t.comment(`seed ${seed}`);
  const random = draws(seed);
  const server = await openInProcess();
  t.teardown(() => server.close());
  const rbac = new Rbac(server.scheme.identity, server.objects);
  // By `namespace/name`; cluster-wide ones have no namespace.
  const roles = new Map<string, Rule[]>();
  const bindings = new Map<string, Binding>();

  const ruleOf = (): Rule => ({
    verbs: [random.pick(verbs), random.pick(verbs)],
    apiGroups: [random.pick(["", "apps", "*"])],
    resources: [random.pick(resources), random.pick(resources)],
    ...(random.next(4) === 0 ? { resourceNames: [random.pick(names)] } : {}),
  });
  const subjectOf = (): Binding["subjects"][number] => {
    const name = random.pick(names);
    const kind = random.pick(["User", "Group", "ServiceAccount"]);
    if (kind !== "ServiceAccount") return { kind, name, apiGroup };
    return { kind, name: random.pick(["a", "b"]), namespace: random.pick(namespaces) };
  };
  const put = async (namespace: string, kind: string, name: string, body: object): Promise<void> => {
    const base = namespace === "" ? `${api}/cluster${kind}` : `${api}/namespaces/${namespace}/${kind}`;
    const answer = await server.call("PUT", `${base}/${name}`, { metadata: { name }, ...body });
    if (answer.code >= 300) throw new Error(answer.text);
  };
  const remove = async (namespace: string, kind: string, name: string): Promise<void> => {
    const base = namespace === "" ? `${api}/cluster${kind}` : `${api}/namespaces/${namespace}/${kind}`;
    await server.call("DELETE", `${base}/${name}`);
  };
  const change = async (): Promise<void> => {
    const namespace = random.pick(["", ...namespaces]);
    const name = random.pick(names);
    const key = `${namespace}/${name}`;
    if (random.next(2) === 0) {
      if (random.next(4) === 0) {
        roles.delete(key);
        return remove(namespace, "roles", name);
      }
      const rules = Array.from({ length: random.next(3) }, ruleOf);
      roles.set(key, rules);
      return put(namespace, "roles", name, { rules });
    }
    // The role of a binding is fixed: another one is another binding.
    if (bindings.delete(key)) await remove(namespace, "rolebindings", name);
    if (random.next(4) === 0) return;
    const kind = namespace === "" ? "ClusterRole" : random.pick(["Role", "ClusterRole"] as const);
    const binding: Binding = {
      kind,
      role: random.pick(names),
      subjects: Array.from({ length: random.next(4) }, subjectOf),
    };
    bindings.set(key, binding);
    const { role, subjects } = binding;
    return put(namespace, "rolebindings", name, { roleRef: { apiGroup, kind, name: role }, subjects });
  };

  const asked = () => {
    const user = {
      name: random.pick([...names, "system:serviceaccount:default:a", "system:serviceaccount:kube-system:b"]),
      uid: "",
      groups: names.filter(() => random.next(3) === 0),
      extra: new Map(),
    };
    const place = { namespace: random.pick(["", ...namespaces]), name: random.pick(["", ...names]) };
    const [resource = "", subresource = ""] = random.pick(["pods", "pods/log", "nodes", "nodes/log"]).split("/");
    const group = random.pick(["", "apps"]);
    return {
      user,
      verb: random.pick(["get", "list", "watch"]),
      isResource: true,
      group,
      version: "v1",
      resource,
      subresource,
      ...place,
      path: "",
    };
  };
  const allows = (question: ReturnType<typeof asked>, rule: Rule): boolean => {
    const whole = question.subresource === "" ? question.resource : `${question.resource}/${question.subresource}`;
    const places = question.subresource === "" ? ["*", whole] : ["*", whole, `*/${question.subresource}`];
    return (
      rule.verbs.some((verb) => ["*", question.verb].includes(verb)) &&
      rule.apiGroups.some((group) => ["*", question.group].includes(group)) &&
      rule.resources.some((resource) => places.includes(resource)) &&
      (rule.resourceNames === undefined || rule.resourceNames.includes(question.name))
    );
  };
  const modelAllows = (question: ReturnType<typeof asked>): boolean =>
    [...bindings].some(([key, { kind, role, subjects }]) => {
      const home = key.slice(0, key.indexOf("/"));
      if (home !== "" && home !== question.namespace) return false;
      const { name, groups } = question.user;
      const isHis = subjects.some((subject) => {
        if (subject.kind === "User") return subject.name === name;
        if (subject.kind === "Group") return groups.includes(subject.name);
        return name === `system:serviceaccount:${subject.namespace}:${subject.name}`;
      });
      const rules = roles.get(kind === "ClusterRole" ? `/${role}` : `${home}/${role}`) ?? [];
      return isHis && rules.some((rule) => allows(question, rule));
    });

  let allowed = 0;
  const wrong: string[] = [];
  for (let step = 0; step < steps; step++) {
    await change();
    for (let index = 0; index < questions; index++) {
      const question = asked();
      const wanted = modelAllows(question);
      if (wanted) allowed += 1;
      if ((rbac.authorize(question).verdict === "allow") !== wanted)
        wrong.push(`step ${step}: ${JSON.stringify(question)}`);
      const held = rbac.rulesFor(question.user, question.namespace).rules as Rule[];
      if (held.some((rule) => allows(question, rule)) !== wanted)
        wrong.push(`step ${step}, by rules: ${JSON.stringify(question)}`);
    }
  }
  t.strictSame(wrong.slice(0, 5), []);
  t.ok(allowed > steps, `${allowed} of ${steps * questions} were allowed`);
  t.ok(allowed < (steps * questions) / 2);
});
