/** In processes that files share, no file sees what an earlier one has left. */

import { expect, it, vi } from 'vitest';
import { enableToStatic, rand, setDevice, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { kept } from '../between-files.ts';
import { projectsOf } from '../projects.ts';

const drawn = () => rand([3]).dataSync();

/** How a file leaves something behind, and what a later file would see of it. */
const left: Readonly<Record<string, { leave(): void; seen(): unknown }>> = {
  'spies and the clock': {
    leave() {
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      vi.useFakeTimers();
    },
    seen: () => [vi.isMockFunction(console.warn), vi.isFakeTimers()],
  },
  environment: {
    leave() {
      process.env.TOSTATIC_FALLBACK = 'error';
      process.env.TOSTATIC_CHECK = '7';
    },
    seen: () => [process.env.TOSTATIC_FALLBACK, process.env.TOSTATIC_CHECK],
  },
  'working directory': { leave: () => process.chdir('/'), seen: () => process.cwd() },
  'default device': { leave: () => setDevice('meta'), seen: () => tensor([1]).device.name },
  'random numbers': { leave: drawn, seen: drawn },
  'whether functions are captured': {
    leave: () => enableToStatic(false),
    seen() {
      const f = toStatic((x: Tensor) => x.add(1));
      f(tensor([1])).dispose();
      return f.stats().graphs;
    },
  },
  builtins: {
    leave() {
      Array.prototype.map = () => [];
      Object.assign(Set.prototype, { first: () => 1 });
      Object.defineProperty(Math, 'max', { value: () => 0 });
    },
    seen: () => [[1].map((n) => n + 1), 'first' in new Set(), Math.max(1, 2)],
  },
};

it('everything that is kept has a case', () => {
  expect(Object.keys(left)).toEqual(Object.keys(kept));
});

it.each(Object.keys(kept))('%s: as before', (name) => {
  const { leave, seen } = left[name]!;
  const restore = kept[name]!();
  restore();
  const before = seen();
  restore();
  leave();
  const changed = seen();
  restore();
  const after = seen();
  restore();
  expect(changed).not.toEqual(before);
  expect(after).toEqual(before);
});

it('every project whose files share a process starts them like this', () => {
  const projects = projectsOf({ apart: [], shared: ['test/ops/*.test.ts'] });
  const sharing = projects.filter(({ test }) => test?.isolate === false);
  expect(sharing.length).toBeGreaterThan(2);
  for (const { test } of sharing) expect(test!.setupFiles).toContain('test/between-files.ts');
});
