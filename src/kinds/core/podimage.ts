// Image references, as far as the pull policy needs them: whether a reference is well-formed and which tag it names.
// Source: the grammar of the container image reference (distribution reference).

const component = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const host = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `${host}(?:\\.${host})*(?::[0-9]+)?`;
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const reference = new RegExp(`^(?:(${domain})/)?(${component}(?:/${component})*)(?::(${tag}))?(?:@(${digest}))?$`);
const identifier = /^[a-f0-9]{64}$/;
const nameBytesMax = 255;

/** `Always` for the tag latest, said or implied; `IfNotPresent` for everything else, malformed references included. */
export function imagePullPolicy(image: string): "Always" | "IfNotPresent" {
  if (image.length > 1024 || identifier.test(image)) return "IfNotPresent";
  const match = reference.exec(normalized(image));
  if (match === null) return "IfNotPresent";
  const [, named, path, tagged, digested] = match;
  if (`${named ?? ""}/${path ?? ""}`.length > nameBytesMax) return "IfNotPresent";
  return (tagged ?? (digested === undefined ? "latest" : "")) === "latest" ? "Always" : "IfNotPresent";
}

/** With the registry and library that short names leave out: only the first part tells a registry from a path. */
function normalized(image: string): string {
  const slash = image.indexOf("/");
  const first = image.slice(0, slash);
  if (slash >= 0 && (/[.:]/.test(first) || first === "localhost")) return image;
  return slash < 0 ? `docker.io/library/${image}` : `docker.io/${image}`;
}
