/** The order of memory accesses, compared with every pair of accesses that must not change places. */

import { expect, it } from 'vitest';
import { AccessOrder, EarlierOps } from '../../../src/7-plan/order/accesses.ts';

interface Access {
  readonly op: number;
  readonly storage: number;
  readonly writes: boolean;
}

/** Numbers that are the same in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
}

it.each(Array.from({ length: 200 }, (_, seed) => seed))('in random program %i', (seed) => {
  const random = randomNumbers(seed);
  const [opCount, storageCount] = [12, 4];
  const before: Set<number>[] = Array.from({ length: opCount }, () => new Set());
  let current = 0;
  const order = new AccessOrder();
  const earlier = new EarlierOps(opCount, (op) => {
    expect(op, 'an op does not precede itself').toBeLessThan(current);
    expect(before[current], 'each earlier op is noted once').not.toContain(op);
    before[current]!.add(op);
  });
  const groups = Array.from({ length: storageCount }, (_, i) => i);
  const isCallers = groups.map((i) => i % 2 === 0);
  for (const i of groups) order.add(i, isCallers[i]!);
  const accesses: Access[] = [];
  const refusals: number[] = [];
  /** Pairs of which the first must come first. */
  const pairs: (readonly [number, number])[] = [];
  for (current = 0; current < opCount; current++) {
    earlier.startWith(current);
    const own: Access[] = Array.from({ length: 1 + random(2) }, () => {
      return { op: current, storage: random(storageCount), writes: random(3) === 0 };
    });
    if (random(5) === 0) {
      for (const op of refusals) pairs.push([op, current]);
      order.refuse(current, earlier);
      refusals.push(current);
    }
    for (const { storage, writes } of own) {
      const alike = accesses.filter((each) => groups[each.storage] === groups[storage]);
      for (const { op, writes: wrote } of alike) if (wrote || writes) pairs.push([op, current]);
      const isVisible = groups.some((group, i) => group === groups[storage] && isCallers[i]);
      if (writes && isVisible) for (const op of refusals) pairs.push([op, current]);
      if (writes) order.write(storage, current, earlier);
      else order.read(storage, current, earlier);
      accesses.push({ op: current, storage, writes });
    }
    if (random(6) === 0) {
      const [one, other] = [random(storageCount), random(storageCount)];
      order.join(one, other);
      const [from, to] = [groups[one], groups[other]!];
      groups.forEach((group, i) => {
        if (group === from) groups[i] = to;
      });
    }
  }
  const all = before.map((direct) => {
    const reached = new Set(direct);
    for (const op of reached) for (const next of before[op]!) reached.add(next);
    return reached;
  });
  for (const [first, second] of pairs) {
    if (first !== second) expect([...all[second]!], `${first} before ${second}`).toContain(first);
  }
});
