// A disk whose power can be cut: an ext4 file system on a loop device, ended by FS_IOC_SHUTDOWN without flushing its
// journal. What was synced is there after the next mount; what was only in memory is gone, as after a real power cut.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** linux/fs.h: _IOR('X', 125, __u32); 2 is EXT4_GOING_FLAGS_NOLOGFLUSH: nothing more reaches the disk. */
const shutdown =
  "import fcntl,os,struct,sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";
const run = promisify(execFile);

/** Why this machine cannot cut a disk's power; undefined when it can. */
export function whyNoPowerCut(): string | undefined {
  if (process.platform !== "linux") return "not Linux";
  if (process.getuid?.() !== 0) return "not root";
  if (!existsSync("/dev/loop-control")) return "no loop devices";
  for (const [tool, option] of [
    ["mkfs.ext4", "-V"],
    ["python3", "-V"],
    ["mount", "-V"],
  ] as const) {
    if (spawnSync(tool, [option]).status !== 0) return `no ${tool}`;
  }
  return undefined;
}

/** A mounted file system of its own below `root`. */
export class CutDisk {
  readonly path: string;
  readonly #image: string;

  constructor(root: string, bytes: number) {
    this.#image = join(root, "disk.img");
    this.path = join(root, "disk");
    mkdirSync(this.path);
    writeFileSync(this.#image, "");
    truncateSync(this.#image, bytes);
    execFileSync("mkfs.ext4", ["-q", "-F", this.#image]);
    this.mount();
  }

  mount(): void {
    execFileSync("mount", ["-o", "loop", this.#image, this.path]);
  }

  unmount(): void {
    execFileSync("umount", [this.path]);
  }

  /** From here on nothing written reaches the disk. */
  async cut(): Promise<void> {
    await run("python3", ["-c", shutdown, this.path]);
  }

  /** Drops what memory holds of the disk and reads it again. */
  restore(): void {
    this.unmount();
    this.mount();
  }

  dispose(): void {
    this.unmount();
    rmSync(this.#image);
  }
}
