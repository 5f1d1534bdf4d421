/** Conformance 100: save → load → the same in a process that has no compiler loaded. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { load, loadProgram, save, seed } from '../../src/index.ts';
import { hasRelaxedSimd } from '../node-options.ts';
import { notTested } from '../not-tested.ts';
import { withImportedSources } from '../source-process.ts';
import { type Calls, exercise, type Seen } from './exercise.ts';
import { savedCases } from './programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-save-'));
const script = join(import.meta.dirname, 'fixtures/run-loaded.mjs');

const expected: Seen[] = [];
let found: readonly Seen[] = [];
let loaded: readonly string[] = [];

beforeAll(async () => {
  for (const [i, { make, calls, later = calls }] of savedCases.entries()) {
    const { fn, saved, state } = make();
    seed(8);
    // The first numbers of a place are constants, the second ones vary.
    for (let round = 0; round < 2; round++) for (const args of calls()) fn(...args);
    await save(saved, join(folder, `${i}.program`));
    const bytes = await save(later() as never, join(folder, `${i}.calls`));
    expected.push(exercise(fn, (await load(bytes)) as Calls, state));
  }
  writeFileSync(
    join(folder, 'names.json'),
    JSON.stringify({ names: savedCases.map(({ name }) => name) }),
  );
  execFileSync(process.execPath, [...withImportedSources, script, folder], { stdio: 'pipe' });
  found = JSON.parse(readFileSync(join(folder, 'seen.json'), 'utf8')) as Seen[];
  loaded = readFileSync(join(folder, 'loaded-files.txt'), 'utf8').trim().split('\n');
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

describe('save → load in another process (100)', () => {
  it('loads the runtime and nothing of the compiler', () => {
    expect(loaded.at(-1)).toBe('done');
    expect(loaded.filter((url) => url.includes('/runtime/')).length).toBeGreaterThan(50);
    expect(loaded.filter((url) => /\/src\/|acorn|astring|magic-string/.test(url))).toEqual([]);
  });

  it.each(savedCases.map(({ name }, i) => [name, i] as const))('%s', (_name, i) => {
    const { state, ...seen } = found[i]!;
    const { state: own, ...same } = JSON.parse(JSON.stringify(expected[i]!)) as Seen;
    expect(seen).toEqual(same);
    for (const [name, value] of Object.entries(own))
      expect({ name, value: state[name] }).toEqual({ name, value });
  });
});

/** Saved after steps in an engine without relaxed SIMD: another one trains to other bits. */
const trained = 'a whole training step';
if (hasRelaxedSimd)
  notTested(`a file of an earlier version: ${trained}`, 'it was trained without relaxed SIMD');

describe('a file that an earlier version saved', () => {
  it.each(savedCases.map(({ name }, i) => [name, i] as const))('%s', async (name, i) => {
    if (name === trained && hasRelaxedSimd) return;
    const path = join(
      import.meta.dirname,
      `fixtures/earlier/${name.replace(/\W+/g, '-')}.tostatic`,
    );
    const program = await loadProgram(path);
    const calls = (await load(join(folder, `${i}.calls`))) as Calls;
    const state = () => ({ ...program.state(), ...program.variables() });
    const { state: left, ...seen } = exercise(program, calls, state);
    const { state: own, ...same } = expected[i]!;
    expect(seen).toEqual(same);
    for (const [key, value] of Object.entries(own))
      expect({ key, value: left[key] }).toEqual({ key, value });
  });
});
