// Which plugins run is the flags' word; their order is fixed.
import t from "tap";
import { AdmissionResult, type Attributes } from "../../src/admission/plugin.ts";
import {
  admit,
  checkMissingSettings,
  checkPluginNames,
  defaultPluginNames,
  pluginNames,
} from "../../src/admission/table.ts";
import { badRequest, type Status } from "../../src/api/status.ts";
import { systemClock } from "../../src/base/clock.ts";
import { defaultAdmission } from "../../src/config/config.ts";

t.test("checkPluginNames() names the flag, the plugin and what there is", async (t) => {
  t.equal(checkPluginNames([], []), undefined);
  t.equal(checkPluginNames([...defaultPluginNames], []), undefined);
  t.match(
    checkPluginNames(["NoSuch"], []),
    /^--enable-admission-plugins: there is no plugin "NoSuch"; there are: AlwaysAdmit, .*NamespaceLifecycle, /,
  );
  t.match(checkPluginNames([], ["constructor"]), /^--disable-admission-plugins: there is no plugin "constructor"/);
  t.match(checkPluginNames(["NamespaceLifecycle"], ["NamespaceLifecycle"]), /^NamespaceLifecycle in both /);
});

t.test("pluginNames are upstream's, in its order; those off there are off here", async (t) => {
  const all =
    "AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists SecurityContextDeny LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount NodeRestriction TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity PodSecurityPolicy PodNodeSelector Priority DefaultTolerationSeconds PodTolerationRestriction EventRateLimit ExtendedResourceToleration PersistentVolumeLabel DefaultStorageClass StorageObjectInUseProtection OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize RuntimeClass CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass DenyServiceExternalIPs MutatingAdmissionWebhook ValidatingAdmissionWebhook ResourceQuota AlwaysDeny".split(
      " ",
    );
  const byDefault =
    "NamespaceLifecycle LimitRanger ServiceAccount TaintNodesByCondition PodSecurity Priority DefaultTolerationSeconds DefaultStorageClass StorageObjectInUseProtection PersistentVolumeClaimResize RuntimeClass CertificateApproval CertificateSigning CertificateSubjectRestriction DefaultIngressClass MutatingAdmissionWebhook ValidatingAdmissionWebhook ResourceQuota".split(
      " ",
    );
  t.same(
    pluginNames,
    all.filter((name) => pluginNames.includes(name)),
  );
  t.same(
    defaultPluginNames,
    byDefault.filter((name) => pluginNames.includes(name)),
  );
});

t.test("checkMissingSettings() names a plugin that cannot run without settings", async (t) => {
  t.equal(checkMissingSettings(defaultAdmission), undefined);
  t.match(
    checkMissingSettings({ ...defaultAdmission, enabled: ["EventRateLimit"] }),
    /^plugin EventRateLimit needs settings in --admission-control-config-file: limits: must be a list that is not empty$/,
  );
});

t.test("admit() runs mutating plugins, the work and validating plugins, and ends at the first refusal", async (t) => {
  const no = badRequest("no");
  const run = async (refuses: string, reinvokes = false, asks = true): Promise<[string, Status | undefined]> => {
    const steps: string[] = [];
    const step = (name: string): Status | undefined => {
      steps.push(name);
      return refuses === name ? no : undefined;
    };
    const notes = new AdmissionResult();
    const plugin = {
      mutate: () => {
        notes.changed = reinvokes;
        return step("mutate");
      },
      validate: async () => step("validate"),
    };
    const admission = { plugins: [{ plugin, took: undefined }], step: undefined, clock: systemClock };
    const attributes = { operation: "create", notes, deadline: Number.POSITIVE_INFINITY } as Attributes;
    const refused = await admit(admission, attributes, asks ? () => step("work") : undefined);
    return [steps.join(" "), refused];
  };
  t.same(await run(""), ["mutate work validate", undefined]);
  t.same(await run("", true), ["mutate mutate work validate", undefined], "a webhook changed the object");
  t.same(await run("", false, false), ["mutate validate", undefined], "there is no work");
  t.same(await run("mutate"), ["mutate", no]);
  t.same(await run("work"), ["mutate work", no]);
  t.same(await run("validate"), ["mutate work validate", no]);
});
