// Files in the format of client configurations that say how webhooks are called: --audit-webhook-config-file,
// --authentication-token-webhook-config-file, --authorization-webhook-config-file and kubeConfigFile of plugins.
// Unknown fields are ignored, as upstream does. `writeOnly` marks values that a message must not repeat.
import { type Static, Type } from "typebox";

/** A string that may be secret. */
function secret(description: string) {
  return Type.String({ writeOnly: true, description });
}

const cluster = Type.Object({
  server: Type.Optional(Type.String({ description: "https://host[:port][/path]" })),
  "certificate-authority": Type.Optional(Type.String({ description: "PEM file of authorities." })),
  "certificate-authority-data": Type.Optional(
    Type.String({ description: "The same in base64; goes before the file." }),
  ),
  "insecure-skip-tls-verify": Type.Optional(Type.Boolean({ description: "Do not look at the server's certificate." })),
  "tls-server-name": Type.Optional(Type.String({ description: "The name its certificate must have." })),
});

const user = Type.Object({
  "client-certificate": Type.Optional(Type.String({ description: "PEM file of a certificate." })),
  "client-certificate-data": Type.Optional(Type.String({ description: "The same in base64; goes before the file." })),
  "client-key": Type.Optional(Type.String({ description: "PEM file of its key." })),
  "client-key-data": Type.Optional(secret("The same in base64; goes before the file.")),
  token: Type.Optional(secret("Bearer token.")),
  tokenFile: Type.Optional(Type.String({ description: "File with the token; goes before token." })),
  username: Type.Optional(Type.String({ description: "For basic authentication." })),
  password: Type.Optional(secret("For basic authentication.")),
});

const context = Type.Object({
  cluster: Type.Optional(Type.String({ description: "Name of a cluster." })),
  user: Type.Optional(Type.String({ description: "Name of a user." })),
});

/** The schema. */
export const kubeconfig = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.Optional(Type.String()),
  "current-context": Type.Optional(Type.String({ description: "Name of the context that holds." })),
  contexts: Type.Optional(
    Type.Array(Type.Object({ name: Type.Optional(Type.String()), context: Type.Optional(context) })),
  ),
  clusters: Type.Optional(
    Type.Array(Type.Object({ name: Type.Optional(Type.String()), cluster: Type.Optional(cluster) })),
  ),
  users: Type.Optional(Type.Array(Type.Object({ name: Type.Optional(Type.String()), user: Type.Optional(user) }))),
});

/** A file that fits its schema. */
export type Kubeconfig = Static<typeof kubeconfig>;
