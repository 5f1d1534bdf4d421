/** What `explain()` says became of each kind of decision, and why: in one program, and with `capture: 'auto'`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { cases, type Run } from './decision-cases.ts';
import { decisionTable } from './decision-table.ts';

function decisionsOf(run: Run, options: object): string[] {
  const f = toStatic(run, options);
  tidy(() => {
    f(tensor([1, 2]), { list: [1], map: new Map() });
  });
  const [, text = ''] = f.explain().split('decisions on graph values:\n');
  const lines = text.split('\n').filter((line) => /^ {2}[a-z]+( of \w+\(\))? at \S+: /.test(line));
  return lines.map((line) =>
    line
      .trim()
      .replace(/ at \S+:\d+:\d+: /, ': ')
      .replace(/\([^()]*decision-cases\.ts[^()]*\)/g, '(…)'),
  );
}

afterEach(() => {
  vi.restoreAllMocks();
});

it.each(Object.entries(cases))('%s', (_name, { run, full, auto = full, options = {} }) => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  if (full) expect(decisionsOf(run, { ...options, fullGraph: true })).toEqual(full);
  else expect(() => decisionsOf(run, { ...options, fullGraph: true })).toThrow('not one program');
  expect(decisionsOf(run, { ...options, capture: 'auto' })).toEqual(auto);
});

it('a comparison of tensors that decides is warned of once, with its line', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const f = toStatic((x: Tensor) => {
    if (x.sum().gt(10)) return x.mul(2);
    return x;
  });
  tidy(() => [[1], [1, 2], [1, 2, 3]].map((values) => f(tensor(values))));
  const text =
    /the condition at \S*decisions\.test\.ts:\d+:\d+ is a tensor, .*: read the value with itemSync\(\)$/;
  expect(warn.mock.calls).toEqual([[expect.stringMatching(text)]]);
});

it('docs/full-graph.md has what can be said, from the code', () => {
  const file = new URL('../../docs/full-graph.md', import.meta.url);
  const text = readFileSync(file, 'utf8');
  const marks = /(<!-- decisions:start -->\n)[\s\S]*(\n<!-- decisions:end -->)/;
  expect(text).toMatch(marks);
  const expected = text.replace(marks, (_, start, end) => `${start}${decisionTable()}${end}`);
  if (process.env.UPDATE_FIXTURES) writeFileSync(file, expected);
  else expect(text).toBe(expected);
});
