// Shuffle sharding: each flow is dealt a hand of a few queues, always the same ones, so that a flow that fills its own hand
// leaves most other flows a queue without it (Amazon's term; upstream: the shuffle sharding package).
import { KeyedHash } from "../base/keyedhash.ts";

/** Two hashes of 32 bits that are independent of one another. */
const hashes = [new KeyedHash(), new KeyedHash()] as const;

/** Deals flows their queues. Which ones differs from process to process: no client can aim at the queue of another. */
export function dealHand(flow: string, queues: number, handSize: number): Uint32Array {
  const [low, high] = hashes;
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
