import t from "tap";
import { pathText, setOf } from "../../src/merge/fieldset.ts";
import { toldPaths } from "../../src/merge/told.ts";

function told(...paths: string[][]): string[] {
  return toldPaths(setOf(...paths).paths()).map(pathText);
}

// Read from upstream's answers to the same applies.
t.test("toldPaths() tells paths as upstream does, siblings in shared memory included", (t) => {
  const spec = ["f:spec", "f:template", "f:spec"];
  t.strictSame(told(["f:data", "f:x"], ["f:data", "f:j"]), [".data.j", ".data.x"]);
  t.strictSame(
    told(
      [...spec, "f:hostNetwork"],
      [...spec, "f:nodeSelector"],
      [...spec, "f:tolerations"],
      [...spec, "f:containers", 'k:{"name":"c1"}', "f:image"],
    ),
    [
      ".spec.template.spec.containers",
      ".spec.template.spec.containers",
      ".spec.template.spec.containers",
      '.spec.template.spec.containers[name="c1"].image',
    ],
  );
  t.strictSame(told([...spec, "f:dnsPolicy"], [...spec, "f:schedulerName"]), [
    ".spec.template.spec.schedulerName",
    ".spec.template.spec.schedulerName",
  ]);
  t.strictSame(told([]), []);
  t.end();
});

t.test("toldPaths() leaves shallow paths as they are, and costs as much as they are long", (t) => {
  const many = Array.from({ length: 20_000 }, (_, index) => ["f:data", `f:k${index}`]);
  t.equal(new Set(told(...many)).size, many.length);
  t.end();
});
