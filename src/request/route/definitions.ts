// Definitions of custom resources as a source of what is served: they are objects of a log like all others, and every
// thread that resolves requests follows it. So a definition is in force on every front from the moment the change that
// established it is acknowledged, as roles and quotas are.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import type { Service } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Registry, Source } from "../../api/registry.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { Conversions } from "../../conversion/conversions.ts";
import { type ConverterOf, resourcesOf } from "../../kinds/custom/definition.ts";
import { readEstablished, readHeader } from "../../kinds/custom/header.ts";
import { definitionsKind } from "../../kinds/custom/prefix.ts";
import type { ServiceLookup } from "../../outbound/peers.ts";

/** Serves what established definitions define. `objects` reads the built-in kinds. */
export function followDefinitions(registry: Registry, objects: Objects, clock: Clock = systemClock): void {
  const { identity } = registry;
  const serviceAt: ServiceLookup = (namespace, name) =>
    objects.read<ApiObject & Service>("", "v1", "services", namespace, name);
  registry.follow(definedBy(objects, registry, new Conversions({ identity, serviceAt, clock })));
}

function definedBy(objects: Objects, { identity }: Pick<Scheme, "identity">, conversions: Conversions): Source {
  const converterOf: ConverterOf = (definition) => conversions.of(definition);
  const definitions = objects.partialTable<CustomResourceDefinition & ApiObject>(readHeader, ...definitionsKind);
  const changed = new Set<string>();
  definitions.onChange((_namespace, name) => changed.add(name));
  const served = new Map<string, readonly Resource[]>();
  const none: readonly (readonly [string, readonly Resource[]])[] = [];
  return () => {
    definitions.refresh();
    if (changed.size === 0) return none;
    const names = [...changed];
    changed.clear();
    return names.map((name) => {
      // Schemas are read when one is needed, which is most often never on this thread. Nothing may ask the registry
      // here: its answer would come from a later look than this one.
      const definition = definitions.peek("", name, readEstablished);
      const before = served.get(name);
      const whole = (): CustomResourceDefinition | undefined => definitions.peek("", name, decodeStored);
      const stored = (): Uint8Array | undefined => definitions.bytes("", name);
      const resources =
        definition === undefined ? [] : resourcesOf(definition, identity, { before, converterOf, whole, stored });
      if (resources.length > 0) served.set(name, resources);
      else served.delete(name);
      return [name, resources] as const;
    });
  };
}
