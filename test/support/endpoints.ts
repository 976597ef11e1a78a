// Services and pods in a server in this thread, with the controllers of what services lead to.
import type { Test } from "tap";
import { EndpointController } from "../../src/controllers/endpoints/endpoints.ts";
import { SliceMirroringController } from "../../src/controllers/endpoints/mirroring.ts";
import { EndpointSliceController } from "../../src/controllers/endpoints/slices.ts";
import type { Controller, Reconciler } from "../../src/controllers/reconciler.ts";
import type { SliceMeter } from "../../src/observe/endpointslices.ts";
import { reconcilerOf, Told } from "./controllers.ts";
import { type InProcess, until } from "./inprocess.ts";
import { scenario } from "./scenario.ts";

/** Paths and headers that tests of these controllers use. */
export const core = "/api/v1/namespaces/default";
export const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
export const merge = { "content-type": "application/merge-patch+json" };

/** What a test says of a pod; the rest is as for one that is ready. */
export interface PodSketch {
  readonly labels?: Readonly<Record<string, string>>;
  /** Empty: it has none yet. Left out: one made of its name's number. */
  readonly ips?: readonly string[];
  readonly isReady?: boolean;
  readonly phase?: string;
  /** Left out: `n1`. */
  readonly nodeName?: string;
  /** Named container ports. */
  readonly ports?: Readonly<Record<string, number>>;
  readonly spec?: object;
  readonly metadata?: object;
  /** When it became ready. */
  readonly since?: string;
}

/** Makes a pod and reports its state, as its node would. */
export async function makePod(server: InProcess, name: string, sketch: PodSketch = {}): Promise<void> {
  const { labels = { app: "a" }, nodeName = "n1", ports = {}, spec = {}, metadata = {} } = sketch;
  const containerPorts = Object.entries(ports).map(([port, containerPort]) => ({ name: port, containerPort }));
  const containers = [{ name: "c", image: "i", ports: containerPorts }];
  const pod = { metadata: { name, labels, ...metadata }, spec: { containers, nodeName, ...spec } };
  const { code, text } = await server.call("POST", `${core}/pods`, pod);
  if (code !== 201) throw new Error(text);
  await setPod(server, name, sketch);
}

/** Reports a pod's state. */
export async function setPod(server: InProcess, name: string, sketch: PodSketch): Promise<void> {
  const number = Number(/\d{1,9}$/.exec(name)?.[0] ?? 0);
  const { ips = [`10.1.${number >> 8}.${number & 255}`], isReady = true, phase = "Running", since } = sketch;
  const status = {
    phase,
    podIP: ips[0] ?? null,
    podIPs: ips.map((ip) => ({ ip })),
    conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: since ?? null }],
  };
  const { code, text } = await server.call("PATCH", `${core}/pods/${name}/status`, { status }, merge);
  if (code !== 200) throw new Error(text);
}

/** Makes a service; `spec` beside the selector `app=a`. */
export async function makeService(server: InProcess, name: string, spec: object, metadata: object = {}): Promise<void> {
  const service = { metadata: { name, ...metadata }, spec: { selector: { app: "a" }, ...spec } };
  const { code, text } = await server.call("POST", `${core}/services`, service);
  if (code !== 201) throw new Error(text);
}

/** Which controllers a test runs; left out: all three. */
export interface Running {
  readonly endpointsPerSliceMax?: number;
  /** What the controllers tell in events. */
  readonly told?: Told;
  /** Counts what the controller of slices does. */
  readonly meter?: SliceMeter;
}

/** The controllers of a server, started; what they complained about goes to `reports`. */
export function runEndpoints(
  server: InProcess,
  reports: string[],
  { endpointsPerSliceMax = 100, told = new Told(), meter }: Running = {},
): Reconciler[] {
  const { writers } = server;
  const controllers = [
    EndpointController.open(writers, told),
    EndpointSliceController.open(writers, told, endpointsPerSliceMax, meter),
    SliceMirroringController.open(writers),
  ];
  return controllers.map((controller) => {
    const reconciler = reconcilerOf(controller as Controller, server.server.clock, (message, cause) => {
      reports.push(`${message}: ${(cause as { message?: string }).message ?? cause}`);
    });
    reconciler.start();
    return reconciler;
  });
}

/** What a test of running controllers is given. */
export interface Setup {
  readonly server: InProcess;
  readonly reports: string[];
  /** What the controllers tell in events. */
  readonly told: Told;
  readonly reconcilers: readonly Reconciler[];
}

/** Resolves when the controllers have done everything there is to do, at once or later. */
export async function settled(server: InProcess, reconcilers: readonly Reconciler[]): Promise<void> {
  for (let changes = -1; changes !== server.store.changes.length || reconcilers.some((one) => one.laterCount > 0); ) {
    changes = server.store.changes.length;
    server.aheadMs += 2_000;
    for (const reconciler of reconcilers) {
      reconciler.catchUp();
      await reconciler.idle();
    }
    // Timers look at the clock.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A test with a server, a node `n1` in zone `z1`, and the controllers running. */
export function running(title: string, check: (t: Test, setup: Setup) => Promise<void>, options: Running = {}): void {
  scenario(title, async (t, server) => {
    const reports: string[] = [];
    const told = new Told();
    const labels = { "topology.kubernetes.io/zone": "z1" };
    await server.call("POST", "/api/v1/nodes", { metadata: { name: "n1", labels } });
    const reconcilers = runEndpoints(server, reports, { told, ...options });
    try {
      await check(t, { server, reports, told, reconcilers });
    } finally {
      for (const reconciler of reconcilers) await reconciler.stop();
    }
  });
}

/** Waits until an answer is as a test wants it, in steps of a second of the controllers' time; the last answer. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
export async function eventually(server: InProcess, path: string, isRight: (json: any) => boolean): Promise<any> {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  let json: any;
  await until(async () => {
    server.aheadMs += 100;
    ({ json } = await server.call("GET", path));
    return isRight(json);
  }, 20_000);
  return json;
}

/** The slices of a service. */
export function slicesOf(service: string): string {
  return `${slicesPath}?labelSelector=kubernetes.io/service-name=${service}`;
}
