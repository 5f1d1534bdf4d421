/**
 * The language's builtins in captured code, each in the uses that programs make of it: eager execution is the
 * oracle for values, gradients, order of effects and exceptions, in the first call, in one like it and after
 * everything has changed. What breaks the graph is listed, with its reason; everything else is one program.
 */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { type CompareOptions, expectSameAsEager, weights } from '../same-as-eager.ts';
import { breaking } from './breaking.ts';
import { arrays } from './cases/arrays.ts';
import { collections } from './cases/collections.ts';
import { functions } from './cases/functions.ts';
import { json } from './cases/json.ts';
import { language } from './cases/language.ts';
import { cases as newer } from './cases/newer.ts';
import { numbers } from './cases/numbers.ts';
import { objects } from './cases/objects.ts';
import { strings } from './cases/strings.ts';
import { typed } from './cases/typed-arrays.ts';
import { type Case, change, type Given, given } from './world.ts';

const groups = {
  language,
  arrays,
  strings,
  numbers,
  objects,
  json,
  collections,
  typed,
  functions,
  newer,
};

const modes: Readonly<Record<string, CompareOptions>> = {
  'by default': { calls: 4 },
  'with fullGraph': { calls: 3, fullGraph: true },
  "with capture: 'auto'": { calls: 3, capture: 'auto' },
};

/** Between two ops, so that a break would part them. */
function observe(run: Case, options: CompareOptions) {
  return expectSameAsEager(() => {
    const w = given();
    return {
      fn: (x: Tensor, g: Given) => {
        const y = x.mul(2).relu();
        const made = run(y, g);
        return [y.add(1), made];
      },
      args: (call) => {
        if (call === (options.calls ?? 3) - 2) change(w);
        return [weights([2], call), w];
      },
      state: () => w,
    };
  }, options);
}

describe.each(Object.entries(groups))('%s in captured code', (group, cases) => {
  const all = Object.entries(cases);
  const isListed = (name: string) => `${group}/${name}` in breaking;

  for (const [mode, options] of Object.entries(modes)) {
    it.each(all.filter(([name]) => !isListed(name)))(`%s is one graph ${mode}`, (_name, run) => {
      const { stats } = observe(run, options);
      expect(stats.fallbacks).toEqual([]);
      expect(stats.breaks.map(({ reason, detail }) => `${reason}: ${detail}`)).toEqual([]);
    });
  }

  const listed = all.filter(([name]) => isListed(name));
  if (listed.length === 0) return;
  it.each(listed)('%s breaks the graph for the reason listed, and is right', (name, run) => {
    const { reasons } = observe(run, modes['by default']!);
    expect([...new Set(reasons)].sort()).toEqual([...breaking[`${group}/${name}`]!].sort());
  });
});

it('every case listed as a break is there', () => {
  const names = Object.entries(groups).flatMap(([group, cases]) =>
    Object.keys(cases).map((name) => `${group}/${name}`),
  );
  expect(Object.keys(breaking).filter((name) => !names.includes(name))).toEqual([]);
});
