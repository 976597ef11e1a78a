// Hosts for tests: network namespaces around one that routes between them, in which traffic is cut in either direction.
//
//   this host ── hub ── host 1        198.18.N.0/24: host i is 198.18.N.(4i+2), and the hub its gateway, one less
//                 └──── host 2
//
// No namespace has a name: each lives as long as the process in it, which ends with this one, and takes its interfaces
// and rules with it. So nothing is left, not even after a crash.
import { type ChildProcess, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { end, spawnBound } from "../servers/bound.ts";

/** For `skip` of tests that partition a network: false where it can be done. */
export const noNetwork: string | false = canMakeNetworks()
  ? false
  : "no network namespaces here (root, ip, nsenter, unshare): nothing is partitioned";

function canMakeNetworks(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const probe =
    "ip link add orch0 type veth peer name orch1 && ip rule add from 198.18.0.1 blackhole && nsenter --version";
  return spawnSync("unshare", ["--net", "sh", "-c", probe], { stdio: "ignore" }).status === 0;
}

/** A host of the network. */
export class Host {
  /** Its IPv4 address, which this host reaches, too. */
  readonly address: string;
  /** A command that runs another one there, by exec: the process that is started is the other one. */
  readonly within: readonly string[];
  readonly holder: ChildProcess;

  constructor(address: string, holder: ChildProcess) {
    this.address = address;
    this.holder = holder;
    this.within = ["nsenter", `--net=/proc/${holder.pid}/ns/net`, "--"];
  }
}

/** Some hosts, this one and what routes between them. */
export class Network {
  readonly #hub: ChildProcess;
  readonly #number: number;
  readonly #hosts: Host[] = [];
  #count = 0;
  /** This host, as the others see it. */
  readonly outside: string;

  private constructor(hub: ChildProcess, number: number) {
    this.#hub = hub;
    this.#number = number;
    this.outside = this.#address(0);
  }

  /** Makes the hub and joins this host to it. Rejects where noNetwork says why. */
  static async open(): Promise<Network> {
    if (noNetwork !== false) throw new Error(noNetwork);
    const hub = await hold("echo 1 > /proc/sys/net/ipv4/ip_forward");
    const network = new Network(hub, freeNumber());
    const name = `orch${hub.pid}`;
    run(["ip", "link", "add", name, "type", "veth", "peer", "name", "h0", "netns", String(hub.pid)]);
    run(["ip", "address", "add", `${network.outside}/30`, "dev", name]);
    run(["ip", "link", "set", name, "up"]);
    network.#inHub(["ip", "address", "add", `${network.#gateway(0)}/30`, "dev", "h0"]);
    network.#inHub(["ip", "link", "set", "h0", "up"]);
    run(["ip", "route", "add", `198.18.${network.#number}.0/24`, "via", network.#gateway(0)]);
    return network;
  }

  /** Adds a host; at most 60. */
  async add(): Promise<Host> {
    const index = (this.#count += 1);
    const holder = await hold("ip link set lo up");
    const host = new Host(this.#address(index), holder);
    const [hub, inside] = [String(this.#hub.pid), (command: string[]) => run([...host.within, ...command])];
    run([
      "nsenter",
      `--net=/proc/${hub}/ns/net`,
      "--",
      "ip",
      "link",
      "add",
      `h${index}`,
      "type",
      "veth",
      "peer",
      "name",
      "up0",
      "netns",
      String(holder.pid),
    ]);
    this.#inHub(["ip", "address", "add", `${this.#gateway(index)}/30`, "dev", `h${index}`]);
    this.#inHub(["ip", "link", "set", `h${index}`, "up"]);
    inside(["ip", "address", "add", `${host.address}/30`, "dev", "up0"]);
    inside(["ip", "link", "set", "up0", "up"]);
    inside(["ip", "route", "add", "default", "via", this.#gateway(index)]);
    this.#hosts.push(host);
    return host;
  }

  /** Drops, silently, everything that goes from one address to another. */
  drop(from: string, to: string): void {
    this.#inHub(["ip", "rule", "add", "from", from, "to", to, "blackhole"]);
  }

  /** Drops everything between an address and others, in both directions. */
  cut(one: string, others: readonly string[]): void {
    for (const other of others) {
      this.drop(one, other);
      this.drop(other, one);
    }
  }

  /** Ends every cut. */
  heal(): void {
    const rules = this.#inHub(["ip", "-json", "rule"]);
    for (const { priority, action } of JSON.parse(rules)) {
      if (action === "blackhole") this.#inHub(["ip", "rule", "delete", "priority", String(priority)]);
    }
  }

  /** Ends all of it. Processes that still run there lose their network. */
  async close(): Promise<void> {
    for (const { holder } of this.#hosts) await end(holder);
    await end(this.#hub);
  }

  #address(index: number): string {
    return `198.18.${this.#number}.${4 * index + 2}`;
  }

  #gateway(index: number): string {
    return `198.18.${this.#number}.${4 * index + 1}`;
  }

  #inHub(command: readonly string[]): string {
    return run(["nsenter", `--net=/proc/${this.#hub.pid}/ns/net`, "--", ...command]);
  }
}

/** A process that keeps a namespace of its own, in which a command was run. */
async function hold(command: string): Promise<ChildProcess> {
  const script = `${command} && echo ready && exec sleep infinity`;
  const holder = spawnBound("unshare", ["--net", "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  const ready = await Promise.race([
    once(holder.stdout as NonNullable<typeof holder.stdout>, "data"),
    once(holder, "exit"),
  ]);
  if (holder.exitCode !== null) throw new Error(`No network namespace: ${ready}`);
  return holder;
}

/** A part of 198.18.0.0/16, which RFC 2544 keeps for tests of networks, that nothing here uses. */
function freeNumber(): number {
  for (;;) {
    const number = randomInt(256);
    if (run(["ip", "route", "show", "to", "match", `198.18.${number}.1/32`]).includes("198.18.")) continue;
    return number;
  }
}

function run([command = "", ...args]: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: 10_000 });
  if (status !== 0) throw new Error(`${[command, ...args].join(" ")}: ${stderr}`);
  return stdout;
}
