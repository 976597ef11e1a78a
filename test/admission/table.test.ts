// Which plugins run is the flags' word; their order is fixed.
import t from "tap";
import { checkPluginNames, defaultPluginNames, pluginNames } from "../../src/admission/table.ts";

t.test("checkPluginNames() names the flag, the plugin and what there is", async (t) => {
  t.equal(checkPluginNames([], []), undefined);
  t.equal(checkPluginNames([...defaultPluginNames], []), undefined);
  t.match(
    checkPluginNames(["NoSuch"], []),
    /^--enable-admission-plugins: there is no plugin "NoSuch"; there are: NamespaceLifecycle, /,
  );
  t.match(checkPluginNames([], ["constructor"]), /^--disable-admission-plugins: there is no plugin "constructor"/);
  t.match(checkPluginNames(["NamespaceLifecycle"], ["NamespaceLifecycle"]), /^NamespaceLifecycle in both /);
});

t.test("pluginNames begin with NamespaceLifecycle, which runs by default", async (t) => {
  t.equal(pluginNames[0], "NamespaceLifecycle");
  t.ok(defaultPluginNames.includes("NamespaceLifecycle"));
});
