import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { Field } from '../../../runtime/save/file/field.ts';
import { type MemoryUses, never } from './memory-uses.ts';

/** Decides when values are evicted, and in which order. */
export interface EvictionPolicy {
  /** The limit on live bytes at any time, excluding memory of the caller. */
  readonly bytes: number;
  /** The weight of the time until a value's next use, in percent: 0, none; 100, as much as its bytes. */
  readonly patience: number;
  /** Each seed perturbs the prices of values, the first one most. */
  readonly seeds: readonly number[];
}

/** Throws DataError unless the field is a policy. */
export function readPolicy(field: Field): EvictionPolicy {
  const number = (each: Field) => each.int(0, Number.MAX_SAFE_INTEGER);
  return {
    bytes: number(field.get('bytes')),
    patience: number(field.get('patience')),
    seeds: field.get('seeds').items().map(number),
  };
}

/** The first seed changes a value's price by up to the first factor, the others by up to the second. */
const [most, more] = [2, 1.3];

/**
 * The live memory during a walk through a program, op by op. Where an op would raise it above the limit, values that
 * backward can recompute are evicted: preferring those that are cheap to recompute, large, and used again late
 * (Kirisame et al., "Dynamic Tensor Rematerialization", 2021; here the next use of each value is known).
 */
export class Pressure {
  readonly #uses: MemoryUses;
  readonly #policy: EvictionPolicy;
  /** By memory: 1 while it is live; memory of the caller is not counted. */
  readonly #isLive: Uint8Array;
  readonly #live = new Set<ValueId>();
  /** By memory: 1 if it has to be recomputed. */
  readonly #isNeeded: Uint8Array;
  /** By memory: the number of memories to recompute that depend on it. */
  readonly #needing: Int32Array;
  /** By memory: how many of its reads have passed. */
  readonly #passed: Int32Array;
  /** When a memory is used next, cached for one state of the walk. */
  readonly #next: Float64Array;
  readonly #nextIn: Int32Array;
  #state = 0;
  readonly #factor: Float64Array;
  readonly #seen: Int32Array;
  /** Ops whose arithmetic is not added yet; empty between searches. */
  readonly #pending: number[] = [];
  #search = 0;
  #bytes = 0;
  peak = 0;
  /** The number of evicted values, and of prices computed to choose them. */
  evicted = 0;
  priced = 0;

  constructor(uses: MemoryUses, policy: EvictionPolicy) {
    this.#uses = uses;
    this.#policy = policy;
    const count = uses.bytes.length;
    this.#isLive = new Uint8Array(count);
    this.#isNeeded = new Uint8Array(count);
    this.#needing = new Int32Array(count);
    this.#passed = new Int32Array(count);
    this.#next = new Float64Array(count);
    this.#nextIn = new Int32Array(count).fill(-1);
    this.#factor = new Float64Array(count);
    this.#seen = new Int32Array(uses.work.length);
    for (const id of uses.donated) this.#add(id);
  }

  isThere(id: ValueId): boolean {
    return this.#isLive[id] === 1 || this.#uses.maker[id] === -1;
  }

  /** The ops to rerun for these memories, in order. */
  missingFor(ids: readonly ValueId[]): readonly number[] {
    if (ids.every((id) => this.isThere(id))) return none;
    const { maker, reads, evictableAfter } = this.#uses;
    const found = new Set<number>();
    const pending = [...ids];
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (this.isThere(id) || found.has(maker[id]!)) continue;
      invariant(evictableAfter[id] !== never, 'a value that cannot be recomputed was evicted');
      found.add(maker[id]!);
      pending.push(...reads[maker[id]!]!);
    }
    return [...found].sort((a, b) => a - b);
  }

  /**
   * Runs an op at a time of the walk. Its outputs reuse the memory of operands that die with it where possible.
   * `isHeld`: whether a memory is needed until the op at that time has run.
   */
  run(index: number, time: number, isHeld: (id: ValueId) => boolean): void {
    const { makes, takes, bytes, scratch } = this.#uses;
    const outputs = makes[index]!;
    for (const id of outputs) this.#meet(id);
    let needed = scratch[index]!;
    for (let i = 0; i < outputs.length; i++) {
      const size = bytes[outputs[i]!]!;
      needed += size;
      for (const id of takes[index]![i]!) {
        if (this.#isLive[id] === 0 || bytes[id] !== size) continue;
        if (isHeld(id) || !this.isDead(id, time)) continue;
        // Removed before others are evicted: nothing can be recomputed from memory that is now overwritten.
        this.#remove(id);
        break;
      }
    }
    const limit = this.#policy.bytes - needed;
    if (this.#bytes > limit) {
      const reads = this.#uses.reads[index]!;
      this.#evict(limit, time, (id) => isHeld(id) || reads.includes(id));
    }
    this.peak = Math.max(this.peak, this.#bytes + needed);
    for (const id of outputs) this.#add(id);
  }

  /** Frees memories that are no longer needed. */
  freeDead(ids: readonly ValueId[], time: number): void {
    for (const id of ids) if (this.#isLive[id] === 1 && this.isDead(id, time)) this.#remove(id);
  }

  isDead(id: ValueId, time: number): boolean {
    return this.#needing[id] === 0 && this.#nextRead(id, time) === never;
  }

  #add(id: ValueId): void {
    if (this.#isLive[id] === 1) return;
    this.#meet(id);
    this.#isLive[id] = 1;
    this.#live.add(id);
    this.#bytes += this.#uses.bytes[id]!;
    this.#state++;
  }

  #remove(id: ValueId): void {
    this.#isLive[id] = 0;
    this.#live.delete(id);
    this.#bytes -= this.#uses.bytes[id]!;
    this.#state++;
  }

  /** Records that a missing memory has to be recomputed, with all missing memory that it depends on. */
  #need(id: ValueId): void {
    const { maker, reads } = this.#uses;
    const pending = [id];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (this.#isNeeded[next] === 1) continue;
      this.#isNeeded[next] = 1;
      for (const operand of reads[maker[next]!]!) {
        this.#needing[operand]!++;
        if (!this.isThere(operand)) pending.push(operand);
      }
    }
  }

  /** Records that a memory is recomputed. */
  #meet(id: ValueId): void {
    if (this.#isNeeded[id] === 0) return;
    this.#isNeeded[id] = 0;
    const { maker, reads } = this.#uses;
    for (const operand of reads[maker[id]!]!) this.#needing[operand]!--;
  }

  #evict(limit: number, time: number, isHeld: (id: ValueId) => boolean): void {
    const { evictableAfter } = this.#uses;
    const ids: ValueId[] = [];
    for (const id of this.#live) if (evictableAfter[id]! < time && !isHeld(id)) ids.push(id);
    const prices = ids.map((id) => this.#priceOf(id, time));
    // An eviction makes no other value cheaper: a price computed earlier bounds the current one from below.
    const isStale = new Uint8Array(ids.length);
    while (this.#bytes > limit) {
      const best = cheapestOf(prices);
      if (best === -1) return;
      const id = ids[best]!;
      if (isStale[best] === 1) {
        prices[best] = this.#priceOf(id, time);
        isStale[best] = 0;
        continue;
      }
      const isNeeded = !this.isDead(id, time);
      this.#remove(id);
      this.evicted++;
      if (isNeeded) this.#need(id);
      prices[best] = never;
      isStale.fill(1);
    }
  }

  #priceOf(id: ValueId, time: number): number {
    this.priced++;
    const wait = this.#nextNeed(id, time) - time;
    const worth = this.#uses.bytes[id]! * wait ** (this.#policy.patience / 100);
    return (this.#factorOf(id) * this.#workFor(id)) / worth;
  }

  #factorOf(id: ValueId): number {
    const known = this.#factor[id]!;
    if (known > 0) return known;
    let factor = 1;
    this.#policy.seeds.forEach((seed, i) => {
      factor *= (i === 0 ? most : more) ** (2 * randomOf(seed, id) - 1);
    });
    this.#factor[id] = factor;
    return factor;
  }

  /**
   * Returns the arithmetic to recompute a memory, including all missing memory that it depends on; `never` if that is
   * impossible.
   */
  #workFor(id: ValueId): number {
    const { evictableAfter, maker, reads, work } = this.#uses;
    const search = ++this.#search;
    const pending = this.#pending;
    pending.push(maker[id]!);
    this.#seen[maker[id]!] = search;
    let sum = 0;
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      sum += work[index]!;
      for (const operand of reads[index]!) {
        const at = maker[operand]!;
        if (at === -1 || this.#isLive[operand] === 1 || this.#seen[at] === search) continue;
        if (evictableAfter[operand] === never) {
          pending.length = 0;
          return never;
        }
        this.#seen[at] = search;
        pending.push(at);
      }
    }
    return sum;
  }

  /** Returns the next op that reads the memory, or something that has to be recomputed from it. */
  #nextNeed(id: ValueId, time: number): number {
    if (this.#needing[id] === 0) return this.#nextRead(id, time);
    const { dependents } = this.#uses;
    const pending = [id];
    for (let at = id; pending.length > 0; ) {
      at = pending.at(-1)!;
      if (this.#nextIn[at] === this.#state) {
        pending.pop();
        continue;
      }
      let next = this.#nextRead(at, time);
      let isKnown = true;
      for (const each of this.#needing[at] === 0 ? none : dependents[at]!) {
        if (this.#isNeeded[each] === 0) continue;
        if (this.#nextIn[each] === this.#state) next = Math.min(next, this.#next[each]!);
        else {
          pending.push(each);
          isKnown = false;
        }
      }
      if (!isKnown) continue;
      this.#next[at] = next;
      this.#nextIn[at] = this.#state;
      pending.pop();
    }
    return this.#next[id]!;
  }

  #nextRead(id: ValueId, time: number): number {
    if (this.#uses.isOutput[id] === 1) return this.#uses.work.length;
    const readers = this.#uses.readers[id]!;
    let at = this.#passed[id]!;
    while (at < readers.length && readers[at]! <= time) at++;
    this.#passed[id] = at;
    return readers[at] ?? never;
  }

  /** Advances the walk to the next op. */
  advance(): void {
    this.#state++;
  }
}

const none: readonly never[] = [];

/** Returns the index of the lowest finite price, the first of equal ones; −1 if no price is finite. */
function cheapestOf(prices: readonly number[]): number {
  let best = -1;
  let least = never;
  for (let i = 0; i < prices.length; i++) {
    if (prices[i]! < least) [best, least] = [i, prices[i]!];
  }
  return best;
}

/** A pseudorandom number from 0 to 1 by seed and value. */
function randomOf(seed: number, id: ValueId): number {
  let bits = Math.imul(seed, 0x9e3779b1) ^ Math.imul(id + 1, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0xc2b2ae35);
  return ((bits ^ (bits >>> 13)) >>> 0) / 2 ** 32;
}
