import type { ValueId } from '../../../runtime/program/program.ts';
import type { MemoryUses } from './memory-uses.ts';
import { type EvictionPolicy, Pressure } from './pressure.ts';

/** The cost of evicting values by a policy. */
export interface EvictionCost {
  /** Peak bytes of the program in the given order, ops one by one, without memory of the caller. */
  readonly peak: number;
  /** The number of ops that run twice, not counting views. */
  readonly ops: number;
  /** Their rough number of arithmetic operations. */
  readonly work: number;
  /** A hash of which ops run again where: walks with equal hashes write the same program. */
  readonly hash: number;
  /** The number of evicted values, and of prices computed to choose them. */
  readonly evicted: number;
  readonly priced: number;
}

/** Receives the ops of a walk in order, by index: ops of the program and ops that run again. */
interface WalkListener {
  readonly run: (index: number) => void;
  /** `isThere`: whether a memory is live before the op runs. */
  readonly again: (index: number, isThere: (id: ValueId) => boolean) => void;
}

const unheard: WalkListener = { run: () => {}, again: () => {} };
const never = () => false;

/**
 * Walks through a program, evicting values by a policy and recomputing them before an op of backward that reads them.
 * Returns null as soon as that takes `enough` arithmetic.
 */
export function walkEvicting(
  uses: MemoryUses,
  policy: EvictionPolicy,
  enough = Number.POSITIVE_INFINITY,
  listener = unheard,
): EvictionCost | null {
  const { isView, reads, readsAndMakes, work } = uses;
  const pressure = new Pressure(uses, policy);
  const isThere = (id: ValueId) => pressure.isThere(id);
  const cost = { ops: 0, work: 0, hash: 0 };
  for (let index = 0; index < reads.length; index++) {
    if (isView[index] === 0) {
      pressure.advance();
      recompute(index);
      if (cost.work >= enough) return null;
      pressure.run(index, index, never);
      pressure.freeDead(readsAndMakes[index]!, index);
    }
    listener.run(index);
  }
  const { peak, evicted, priced } = pressure;
  return { ...cost, peak, evicted, priced };

  /** Reruns the ops that the op's operands need. */
  function recompute(index: number): void {
    const missing = pressure.missingFor(reads[index]!);
    if (missing.length === 0) return;
    const lastUse = new Map<ValueId, number>();
    missing.forEach((each, i) => {
      for (const id of readsAndMakes[each]!) lastUse.set(id, i);
    });
    for (const id of reads[index]!) lastUse.set(id, missing.length);
    missing.forEach((each, i) => {
      listener.again(each, isThere);
      pressure.run(each, index, (id) => (lastUse.get(id) ?? -1) > i);
      cost.ops++;
      cost.work += work[each]!;
      cost.hash = mixed(mixed(cost.hash, index), each);
      const over = readsAndMakes[each]!.filter((id) => lastUse.get(id) === i);
      pressure.freeDead(over, index);
    });
  }
}

function mixed(hash: number, value: number): number {
  const bits = Math.imul(hash ^ value, 0x9e3779b1);
  return bits ^ (bits >>> 15);
}
