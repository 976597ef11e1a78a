// Calls of etcd for requests that are sampled: spans of their traces, which etcd is told of.
import { createServer } from "node:http2";
import t from "tap";
import { EtcdClient } from "../../../src/storage/etcd/client.ts";
import { namedBy, openTracing } from "../../observe/tracing.ts";
import { change } from "../../support/changes.ts";
import { noEtcd } from "../../support/etcd/binary.ts";
import { Etcd } from "../../support/etcd/etcd.ts";
import { answerWith, bodyOf, portOf } from "../../support/etcd/http2.ts";
import { openOn } from "../../support/etcd/store.ts";

t.test(
  "EtcdClient.call() has a span and a trace parent for each attempt of a sampled call, and none else",
  async (t) => {
    const parents: unknown[] = [];
    const statuses = ["14", "0", "0"];
    const server = createServer();
    server.on("stream", (stream, headers) => {
      parents.push(headers["traceparent"]);
      const status = { "grpc-status": statuses.shift() ?? "0", "grpc-message": "no leader" };
      void bodyOf(stream).then((bytes) => answerWith(stream, bytes, status));
    });
    const client = new EtcdClient({ urls: [`http://127.0.0.1:${await portOf(server)}`] });
    t.teardown(() => {
      client.close();
      server.close();
    });
    const { tracer, spans, flush } = openTracing();
    const trace = tracer.begin();
    const call = { path: "/etcdserverpb.KV/Range", request: Buffer.from("r"), isRead: true, timeoutMs: 60_000 };
    const read = (bytes: Buffer): string => bytes.toString();
    t.equal(await client.call({ ...call, read }, undefined, trace), "r");
    t.equal(await client.call({ ...call, read }), "r");
    trace?.end("request", 2, [], false);
    flush();
    const [, ...attempts] = spans;
    t.same(
      attempts.map(({ name, kind, parentId, isError }) => [name, kind, parentId, isError]),
      [
        ["etcdserverpb.KV/Range", 3, trace?.own.spanId, true],
        ["etcdserverpb.KV/Range", 3, trace?.own.spanId, false],
      ],
    );
    t.same(attempts[0]?.attributes, [
      ["rpc.system", "grpc"],
      ["error.type", "unavailable"],
    ]);
    t.same(parents, [...attempts.map(namedBy), undefined]);
  },
);

t.test("reads and writes of sampled requests are spans of their calls to etcd", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  const store = await openOn({ urls: etcd.endpoints });
  t.teardown(async () => {
    await store.close();
    await etcd.close();
  });
  const { tracer, spans, flush } = openTracing();
  const trace = tracer.begin();
  const [made, untraced] = await store.commit([
    { ...change("create", "a", 0), spans: trace },
    change("create", "b", 0),
  ]);
  t.match([made, untraced], [{ revision: Number }, { revision: Number }]);
  const revision = await store.currentRevision(trace);
  await store.listAt?.({ revision, prefix: "/registry/configmaps", namespace: "", after: "", limit: 1 }, trace);
  await store.currentRevision();
  trace?.end("request", 2, [], false);
  flush();
  const [root, ...inner] = spans;
  t.equal(root?.name, "request");
  t.same(
    inner.map(({ name, parentId }) => [name, parentId]),
    ["etcdserverpb.KV/Txn", "wait for etcd's watch", "etcdserverpb.KV/Range", "etcdserverpb.KV/Range"].map((name) => [
      name,
      root?.spanId,
    ]),
  );
});
