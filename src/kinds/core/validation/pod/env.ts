// Environment variables of a container: their names and where their values come from.
import { invalid, required } from "../../../../api/fielderror.ts";
import type { EnvFromSource, EnvVar, EnvVarSource } from "../../../../api/gen/core/v1.ts";
import { isConfigMapKey, isDns1123Subdomain, isEnvVarName, isName } from "../../../formats.ts";
import { type Errors, eachItem, empty, faults } from "../../../validation/check.ts";
import { checkFieldRef, checkResourceFieldRef, environmentFields } from "./downward.ts";

/** Rules of `env`. */
export function checkEnv(out: Errors, path: string, variables: readonly EnvVar[] | undefined): void {
  eachItem(out, variables, path, (variable, at) => {
    if (variable.name === "") out.push(required(`${at}.name`));
    else faults(out, `${at}.name`, variable.name, isEnvVarName(variable.name));
    if (variable.valueFrom !== undefined) checkSource(out, `${at}.valueFrom`, variable.valueFrom, variable.value);
  });
}

function checkSource(out: Errors, path: string, source: EnvVarSource, value: string | undefined): void {
  let count = 0;
  if (source.fieldRef !== undefined) {
    count += 1;
    checkFieldRef(out, `${path}.fieldRef`, source.fieldRef, environmentFields);
  }
  if (source.resourceFieldRef !== undefined) {
    count += 1;
    checkResourceFieldRef(out, `${path}.resourceFieldRef`, source.resourceFieldRef, false);
  }
  for (const field of ["configMapKeyRef", "secretKeyRef"] as const) {
    const ref = source[field];
    if (ref === undefined) continue;
    count += 1;
    const name = ref.name ?? "";
    faults(out, `${path}.${field}.name`, name, isDns1123Subdomain(name));
    if (ref.key === "") out.push(required(`${path}.${field}.key`));
    else faults(out, `${path}.${field}.key`, ref.key, isConfigMapKey(ref.key));
  }
  if (count === 0) {
    const sources = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
    out.push(invalid(path, "", `must specify one of: ${sources}`));
  } else if (!empty(value)) {
    out.push(invalid(path, "", "may not be specified when `value` is not empty"));
  } else if (count > 1) {
    out.push(invalid(path, "", "may not have more than one field specified at a time"));
  }
}

/** Rules of `envFrom`. How many sources an item has is reported on the list: so upstream. */
export function checkEnvFrom(out: Errors, path: string, sources: readonly EnvFromSource[] | undefined): void {
  eachItem(out, sources, path, (source, at) => {
    if (!empty(source.prefix)) faults(out, `${at}.prefix`, source.prefix, isEnvVarName(source.prefix));
    let count = 0;
    for (const field of ["configMapRef", "secretRef"] as const) {
      const ref = source[field];
      if (ref === undefined) continue;
      count += 1;
      if (empty(ref.name)) out.push(required(`${at}.${field}.name`));
      else faults(out, `${at}.${field}.name`, ref.name, isName(ref.name, "dns1123-subdomain", true));
    }
    if (count === 0) out.push(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    else if (count > 1) out.push(invalid(path, "", "may not have more than one field specified at a time"));
  });
}
