/**
 * Every function, method, getter and constructor of the realm in captured code: it does what it does eagerly, and
 * stays in the graph unless it is listed with a reason. A function without a use here fails by its name. The lists are
 * those of Node 20: on later versions, which have more functions, only what they compute is compared.
 */

import { describe, expect, it } from 'vitest';
import { breaks } from './breaks.ts';
import { compareUse } from './compare.ts';
import { realmNames } from './names.ts';
import { usesOf } from './uses.ts';

const names = realmNames();
const isListed = process.versions.node.startsWith('20.');

it.runIf(isListed)('every function of the realm has a use', () => {
  expect(names.filter((name) => !usesOf(name))).toEqual([]);
});

/** All uses of the functions in one. */
const useOf = (each: readonly string[]): string =>
  `[${each.flatMap((name) => usesOf(name)!).join(', ')}]`;

/** A capture costs more than a use. */
const together = 12;
const used = names.filter((name) => usesOf(name));
const inGraph = used.filter((name) => !(name in breaks));
const groups = Array.from({ length: Math.ceil(inGraph.length / together) }, (_, i) =>
  inGraph.slice(i * together, (i + 1) * together),
).map((group) => [group.join(', '), group] as const);

describe('functions of the realm in captured code', () => {
  it.each(groups)('%s are in the graph', (_names, each) => {
    const { difference, breaks: met, fallbacks, threw } = compareUse(useOf(each));
    expect(difference).toBeUndefined();
    expect(threw).toEqual([]);
    if (!isListed) return;
    expect(met).toEqual([]);
    expect(fallbacks).toBe(0);
  });

  it.each(used.filter((name) => name in breaks))('%s breaks the graph and is right', (name) => {
    const { difference, breaks: met } = compareUse(useOf([name]));
    expect(difference).toBeUndefined();
    if (isListed) expect(met).not.toEqual([]);
  });

  const some = groups.filter((_group, i) => i % 3 === 0);
  it.each(some)('%s are right with fullGraph', (_names, each) => {
    expect(compareUse(useOf(each), { fullGraph: true }).difference).toBeUndefined();
  });
});
