import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { isStatus } from "../../../src/api/status.ts";
import { resolve } from "../../../src/request/route/info.ts";

const scheme = createScheme({ identity: identities.kubernetes });

/** `verb group/resource/subresource namespace name -> what runs`, or `verb path`. */
function told(method: string, target: string): string {
  const [path = "", query = ""] = target.split("?");
  const { asked, info } = resolve(scheme, method, path, query);
  const runs = isStatus(info) ? String(info.code) : info.isResource ? "runs" : "page";
  if (!asked.isResource) return `${asked.verb} ${asked.path} -> ${runs}`;
  const { verb, group, resource, subresource, namespace, name } = asked;
  return `${verb}|${group}|${resource}|${subresource}|${namespace}|${name} -> ${runs}`;
}

t.test("resolve() tells what authorization is asked, as upstream's request info", (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["GET", "/", "get / -> page"],
    ["GET", "/api", "get /api -> page"],
    ["GET", "/api/v1", "get /api/v1 -> page"],
    ["GET", "/api/v1/", "get /api/v1/ -> page"],
    ["GET", "/apis/apps/v1", "get /apis/apps/v1 -> page"],
    ["POST", "/healthz", "post /healthz -> page"],
    ["GET", "/%2Fapi/v1/pods", "list||pods|||  -> page".replace("  ", " ")],
    ["GET", "//api/v1/pods", "list||pods||| -> page"],
    ["GET", "/api/v1/pods", "list||pods||| -> runs"],
    ["HEAD", "/api/v1/pods", "list||pods||| -> runs"],
    ["OPTIONS", "/api/v1/pods", "||pods||| -> 405"],
    ["get", "/api/v1/pods", "||pods||| -> 405"],
    ["GET", "/api/v1/pods?watch", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=true", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=yes", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=FALSE", "list||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=0", "list||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=00", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=0&watch=1", "list||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=1&watch=0", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?Watch=1", "list||pods||| -> runs"],
    ["GET", "/api/v1/pods?w%61tch=1", "watch||pods||| -> runs"],
    ["GET", "/api/v1/pods?watch=1;x", "list||pods||| -> 400"],
    ["GET", "/api/v1/pods?watch=1&limit=%zz", "watch||pods||| -> 400"],
    ["GET", "/api/v1/nodes/n/proxy/p?a=b;c", "get||nodes|proxy||n -> runs"],
    ["GET", "/healthz?exclude=%ff", "get /healthz -> 400"],
    ["GET", "/api/v1/namespaces/d/pods", "list||pods||d| -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x", "get||pods||d|x -> runs"],
    ["HEAD", "/api/v1/namespaces/d/pods/x", "get||pods||d|x -> runs"],
    ["HEAD", "/api/v1/namespaces/d/pods/x/log", "get||pods|log|d|x -> runs"],
    ["HEAD", "/api/v1/namespaces/d/pods/x/exec", "get||pods|exec|d|x -> 405"],
    ["GET", "/api/v1/namespaces/d/pods/x?watch=1", "watch||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x?watch", "watch||pods||d|x -> runs"],
    ["HEAD", "/api/v1/namespaces/d/pods/x?watch=1", "watch||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x?watch=false", "get||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x?watch=1&fieldSelector=metadata.name%3Dy", "watch||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d?watch=1", "watch||namespaces||d|d -> runs"],
    ["GET", "/api/v1/componentstatuses/x?watch=1", "watch||componentstatuses|||x -> 405"],
    ["GET", "/api/v1/namespaces/d/pods/x/log?watch=1", "get||pods|log|d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x/status?watch=1", "get||pods|status|d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x/proxy/y?watch=1", "get||pods|proxy|d|x -> runs"],
    ["DELETE", "/api/v1/namespaces/d/pods/x?watch=1", "delete||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x/log", "get||pods|log|d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x/log/y", "get||pods|log|d|x -> 404"],
    ["GET", "/api/v1/namespaces/d/pods/x/proxy/a/b", "get||pods|proxy|d|x -> runs"],
    ["POST", "/api/v1/namespaces/d/pods/x/exec", "create||pods|exec|d|x -> runs"],
    ["POST", "/api/v1/namespaces/d/pods/x", "create||pods||d|x -> 405"],
    ["PUT", "/api/v1/namespaces/d/pods", "update||pods||d| -> 405"],
    ["PATCH", "/api/v1/namespaces/d/pods/x", "patch||pods||d|x -> runs"],
    ["DELETE", "/api/v1/namespaces/d/pods/x", "delete||pods||d|x -> runs"],
    ["DELETE", "/api/v1/namespaces/d/pods", "deletecollection||pods||d| -> runs"],
    ["DELETE", "/api/v1/pods", "deletecollection||pods||| -> 405"],
    ["POST", "/api/v1/pods", "create||pods||| -> 405"],
    ["GET", "/api/v1/pods/x", "get||pods|||x -> 404"],
    ["GET", "/api/v1/namespaces", "list||namespaces||| -> runs"],
    ["GET", "/api/v1/namespaces/d", "get||namespaces||d|d -> runs"],
    ["PUT", "/api/v1/namespaces/d/status", "update||namespaces|status|d|d -> runs"],
    ["PUT", "/api/v1/namespaces/d/finalize", "update||namespaces|finalize|d|d -> runs"],
    ["GET", "/api/v1/namespaces/d/nodes", "list||nodes||d| -> 404"],
    ["GET", "/api/v1/namespaces/d/nodes/n", "get||nodes||d|n -> 404"],
    ["DELETE", "/api/v1/namespaces/d/nodes", "deletecollection||nodes||d| -> 404"],
    ["GET", "/api/v1/namespaces/d/namespaces/e", "get||namespaces||d|e -> 404"],
    ["GET", "/api/v1/namespaces//pods", "list||pods||| -> 404"],
    ["GET", "/api/v1/namespaces/d//x", "get||||d|x -> 404"],
    ["GET", "/api/v1/nodes/n", "get||nodes|||n -> runs"],
    ["GET", "/api/v1/nothings", "list||nothings||| -> 404"],
    ["GET", "/apis/none.example/v1/things", "list|none.example|things||| -> page"],
    ["GET", "/apis/apps/v9/deployments", "list|apps|deployments||| -> 404"],
    ["GET", "/api/v1/watch/pods", "watch||pods||| -> runs"],
    ["GET", "/api/v1/watch/namespaces/d/pods/x", "watch||pods||d|x -> runs"],
    ["GET", "/api/v1/watch/namespaces/d", "watch||namespaces||d|d -> runs"],
    ["POST", "/api/v1/watch/namespaces/d/pods", "watch||pods||d| -> 405"],
    ["GET", "/api/v1/watch", "watch||||| -> 404"],
    ["GET", "/api/v1/proxy/namespaces/d/pods/x", "proxy||pods||d|x -> 404"],
    ["GET", "/api/v1/proxy/nodes/n/status", "proxy||nodes|||n -> 404"],
    ["GET", "/api/v1/namespaces/d/pods/%2e%2e", "get||pods||d|.. -> runs"],
    ["GET", "/api/v1/namespaces/d/pods%2Fx", "get||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d%2Fpods/x", "get||pods||d|x -> runs"],
    ["GET", "/api/v1/namespaces/d/pods/x%252Flog", "get||pods||d|x%2Flog -> runs"],
    ["GET", "/api/v1/namespaces/%zz", "get /api/v1/namespaces/%zz -> 400"],
    ["GET", "/api/v1/namespaces/%ff", "get /api/v1/namespaces/%ff -> 400"],
    ["GET", "/API/v1/pods", "get /API/v1/pods -> page"],
    ["GET", "/api/v1/namespaces/d/__proto__/constructor", "get||__proto__||d|constructor -> 404"],
  ];
  for (const [method, target, wanted] of cases) t.equal(told(method, target), wanted, `${method} ${target}`);
  t.end();
});

t.test("resolve() takes the name of a list from a selector that allows one only", (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ["metadata.name=x", "x"],
    ["metadata.name==x", "x"],
    ["metadata.name%3Dx", "x"],
    ["spec.nodeName=n,metadata.name=x", "x"],
    ["metadata.name=x,metadata.name=y", "x"],
    ["metadata.name!=x", ""],
    ["metadata.name=", ""],
    ["metadata.name", ""],
    ["metadata.name=..", ""],
    ["metadata.name=.", ""],
    ["metadata.name=../bars/x", ""],
    ["metadata.name=a%2Fb", ""],
    ["metadata.name=a%25b", ""],
    ["metadata.namespace=x", ""],
  ];
  for (const [selector, name] of cases) {
    const target = `/api/v1/namespaces/d/pods?fieldSelector=${selector}`;
    t.equal(told("GET", target), `list||pods||d|${name} -> runs`, selector);
    t.equal(told("GET", `${target}&watch=1`), `watch||pods||d|${name} -> runs`, selector);
    t.equal(told("DELETE", target), "deletecollection||pods||d| -> runs", selector);
  }
  t.equal(
    told("GET", "/api/v1/pods?fieldSelector=metadata.name=a&fieldSelector=metadata.name=b"),
    "list||pods|||a -> runs",
  );
  t.end();
});
