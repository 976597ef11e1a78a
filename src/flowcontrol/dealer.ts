// Shuffle sharding: each flow is dealt a hand of a few queues, always the same ones, so that a flow that fills its own hand
// leaves most other flows a queue without it (Amazon's term; upstream: the shuffle sharding package).
import { createHash } from "node:crypto";
import { KeyedHash } from "../base/keyedhash.ts";

/** Deals flows their queues. Who does not know its secret cannot aim at the queues of another flow. */
export class Dealer {
  /** Two of 32 bits, independent of one another. */
  readonly #hashes: readonly [KeyedHash, KeyedHash];

  /** Fronts with the same secret deal the same hands. */
  constructor(secret: string) {
    const { buffer, byteOffset } = Uint8Array.from(createHash("sha256").update(`queues of ${secret}`).digest());
    const key = (at: number): KeyedHash => new KeyedHash(new Uint32Array(buffer, byteOffset + at, 2));
    this.#hashes = [key(0), key(8)];
  }

  /** The queues of a flow, in order. */
  deal(flow: string, queues: number, handSize: number): Uint32Array {
    const [low, high] = this.#hashes;
    // 64 bits: validation lets no deck and hand need more than 60.
    let entropy = (BigInt(high.of(flow) >>> 0) << 32n) | BigInt(low.of(flow) >>> 0);
    const hand = new Uint32Array(Math.min(handSize, queues));
    for (let dealt = 0; dealt < hand.length; dealt++) {
      const left = BigInt(queues - dealt);
      let card = Number(entropy % left);
      entropy /= left;
      // The card-th of those not dealt yet: hand[0..dealt) is kept sorted.
      let at = 0;
      while (at < dealt && card >= (hand[at] as number)) {
        card++;
        at++;
      }
      hand.copyWithin(at + 1, at, dealt);
      hand[at] = card;
    }
    return hand;
  }
}
