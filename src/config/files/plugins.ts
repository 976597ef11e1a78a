// The settings of admission plugins, in --admission-control-config-file or in files it names. Unknown
// fields are ignored unless a schema says otherwise, as upstream does.
import { type Static, Type } from "typebox";
import { limits } from "../limits.ts";
import { names, type Spell, strings } from "./parts.ts";

const level = Type.Enum(["privileged", "baseline", "restricted"]);

const version = Type.String({
  description: "Release whose rules hold.",
  pattern: "^(?:latest|v1\\.(?:0|[1-9][0-9]*))$",
  patternErrorMessage: "latest or v1.x",
});

/** PodSecurity. */
export const podSecuritySettings = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.Optional(Type.Literal("PodSecurityConfiguration")),
  defaults: Type.Optional(
    Type.Object(
      {
        enforce: Type.Optional(level),
        "enforce-version": Type.Optional(version),
        audit: Type.Optional(level),
        "audit-version": Type.Optional(version),
        warn: Type.Optional(level),
        "warn-version": Type.Optional(version),
      },
      { description: "Holds in namespaces without labels; left out: privileged and latest." },
    ),
  ),
  exemptions: Type.Optional(
    Type.Object(
      {
        usernames: Type.Optional(names("Users whose pods are exempt.")),
        namespaces: Type.Optional(names("Namespaces whose pods are exempt.")),
        runtimeClasses: Type.Optional(names("Runtime classes whose pods are exempt.")),
      },
      { description: "Pods that are not looked at." },
    ),
  ),
});

/** Settings that fit. */
export type PodSecuritySettings = Static<typeof podSecuritySettings>;

/** EventRateLimit. */
export const eventRateSettings = Type.Object({
  limits: Type.Array(
    Type.Object({
      type: Type.Enum(["Server", "Namespace", "User", "SourceAndObject"], {
        description: "Scope in which events are counted.",
      }),
      qps: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "Events per second." }),
      burst: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "Events at once." }),
      cacheSize: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: limits.eventBucketsMax,
          description: `Keys that are counted by; 0 is ${limits.eventBuckets}.`,
        }),
      ),
    }),
    { minItems: 1, description: "An event must fit them all." },
  ),
});

/** Settings that fit. */
export type EventRateSettings = Static<typeof eventRateSettings>;

const zero = "0 is the default, less than 0 keeps none.";

/** ImagePolicyWebhook. */
export const imagePolicySettings = Type.Object({
  imagePolicy: Type.Object({
    kubeConfigFile: Type.String({ minLength: 1, description: "File that says where the webhook is; see kubeconfig." }),
    allowTTL: Type.Optional(
      Type.Integer({ maximum: 1_800, description: `Seconds a permission is kept (default 300); ${zero}` }),
    ),
    denyTTL: Type.Optional(
      Type.Integer({ maximum: 1_800, description: `Seconds a refusal is kept (default 30); ${zero}` }),
    ),
    retryBackoff: Type.Optional(
      Type.Integer({ maximum: 300_000, description: "Milliseconds between tries (default 500); 0 is the default." }),
    ),
    defaultAllow: Type.Optional(Type.Boolean({ description: "Allow pods while the webhook gives no answer." })),
  }),
});

/** Settings that fit. */
export type ImagePolicySettings = Static<typeof imagePolicySettings>;

/** PodNodeSelector. */
export const nodeSelectorSettings = Type.Object({
  podNodeSelectorPluginConfig: Type.Optional(
    // Every key, which ".*" is not: one may have a line break.
    Type.Record(Type.String({ pattern: "^" }), Type.String({ description: "Labels: a=b,c=d." }), {
      description: "Node selectors by namespace, and clusterDefaultNodeSelector.",
    }),
  ),
});

/** Settings that fit. */
export type NodeSelectorSettings = Static<typeof nodeSelectorSettings>;

const tolerations = Type.Array(
  Type.Object(
    {
      key: Type.Optional(Type.String()),
      operator: Type.Optional(Type.String()),
      value: Type.Optional(Type.String()),
      effect: Type.Optional(Type.String()),
      tolerationSeconds: Type.Optional(
        Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      ),
    },
    { additionalProperties: false },
  ),
);

/** PodTolerationRestriction. */
export const tolerationSettings = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.Optional(Type.String()),
  default: Type.Optional(tolerations),
  whitelist: Type.Optional(tolerations),
});

/** Settings that fit. */
export type TolerationSettings = Static<typeof tolerationSettings>;

/** ResourceQuota. */
export const quotaSettings = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.Optional(Type.Enum(["ResourceQuotaConfiguration", "Configuration"])),
  limitedResources: Type.Optional(
    Type.Array(
      Type.Object({
        apiGroup: Type.Optional(Type.String({ description: "API group; empty is the core group." })),
        resource: Type.String({ minLength: 1, description: "Plural name." }),
        matchContains: Type.Optional(strings("Parts of the names of the counted resources.")),
        matchScopes: Type.Optional(
          Type.Array(
            Type.Object({
              scopeName: Type.String(),
              operator: Type.String(),
              values: Type.Optional(Type.Array(Type.String())),
            }),
          ),
        ),
      }),
      { description: "Resources that may be used only where a quota allows it." },
    ),
  ),
});

/** Settings that fit. */
export type QuotaSettings = Static<typeof quotaSettings>;

/** MutatingAdmissionWebhook and ValidatingAdmissionWebhook. */
export function webhookSettings(spell: Spell) {
  return Type.Object({
    apiVersion: Type.Enum([spell("apiserver.config.k8s.io/v1"), spell("apiserver.config.k8s.io/v1alpha1")]),
    kind: Type.Enum(["WebhookAdmissionConfiguration", "WebhookAdmission"]),
    kubeConfigFile: Type.String({
      minLength: 1,
      description: "Absolute path of a file whose users are named after the hosts of webhooks; see kubeconfig.",
    }),
  });
}

/** Settings that fit. */
export type WebhookSettings = Static<ReturnType<typeof webhookSettings>>;
