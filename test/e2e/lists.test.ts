// A list far larger than any buffer on its way arrives whole, though the client is often behind.
import t from "tap";
import { startServer } from "../support/server.ts";

interface List {
  readonly items: readonly { readonly data: { readonly value: string } }[];
}

const count = 300;
const value = "v".repeat(200_000);

void t.test("a list of 60 MB arrives whole every time", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const path = "/api/v1/namespaces/default/configmaps";
  for (let i = 0; i < count; i++) {
    const made = await server.call("POST", path, { metadata: { name: `large-${i}` }, data: { value } });
    if (made.code !== 201) t.fail(made.text);
  }
  // An open watch on the same thread is part of what once broke these lists.
  const close = server.watch(`${path}?watch=true`, () => undefined);
  t.teardown(() => close());
  for (let i = 0; i < 20; i++) {
    const answer = await server.call("GET", path);
    const whole = (answer.json as List).items.filter(({ data }) => data?.value === value).length;
    t.equal(whole, count, `list ${i}`);
  }
});
