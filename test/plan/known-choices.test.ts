/** Plans of an earlier process, by the choices that it has left: `TOSTATIC_CACHE`. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DataWriter, parseFile } from '../../runtime/save/file/container.ts';
import { Captured, type ToStaticOptions } from '../../src/dispatch/captured-function.ts';
import { type Tensor, tidy } from '../../src/node/index.ts';
import { withSources } from '../source-process.ts';
import { type Job, jobs } from './known-choices/jobs.ts';
import { planText } from './known-choices/plan-text.ts';

const released = vi.hoisted(() => ({ version: '' }));
vi.mock('../../src/options/package-version.ts', () => ({
  get packageVersion() {
    return released.version;
  },
}));

const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
  released.version = version;
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly results: readonly number[][];
  readonly plan: string;
  readonly known: number;
  readonly plans: number;
  readonly isFirst: boolean;
}

/** Two steps of a job that begins anew. */
async function outcomeOf(
  make: () => Job,
  memory: ToStaticOptions['memory'] = {},
): Promise<Outcome> {
  const { step, inputs, state, dispose } = make();
  const captured = new Captured(step, { memory });
  const results = [1, 2].map(() =>
    tidy(() => [...(captured.call(undefined, inputs) as Tensor).dataSync()]),
  );
  const isFirst = captured.parts[0]!.isFirst;
  await captured.ready();
  const { plans, knownPlans: known = 0 } = captured.stats();
  const plan = captured.parts.flatMap(({ stages }) => stages && planText(stages.planned)).join();
  const outcome = { results: [...results, ...state()], plan, known, plans, isFirst };
  dispose();
  return outcome;
}

/** Those of plans. */
const files = () =>
  readdirSync(folder).flatMap((name) => (name.endsWith('.plan') ? [join(folder, name)] : []));

/** The choices of the file, each with the name of its search. */
function choicesIn(file: string): [string, unknown][] {
  return parseFile(readFileSync(file)).header.get('choices').value as [string, unknown][];
}

const byDefault = {};
const bytes = { prefer: 'bytes' } as const;
const budget = { budget: 24_000 };

const cases: readonly (readonly [job: string, setting: string, ToStaticOptions['memory']])[] = [
  ['layers', 'by default', byDefault],
  ['layers', 'prefer: bytes', bytes],
  ['layers', 'within a budget', budget],
  ['norms', 'by default', byDefault],
  ['masked', 'by default', byDefault],
];

describe('plan/known choices', () => {
  for (const [name, setting, memory] of cases) {
    it(`${name}, ${setting}: the same plan and bits, without a search`, async () => {
      const make = jobs[name]!;
      const searched = await outcomeOf(make, memory);
      expect(searched.known).toBe(0);
      expect(files().length).toBeGreaterThan(0);
      const known = await outcomeOf(make, memory);
      expect(known).toEqual({
        ...searched,
        known: known.plans,
        isFirst: false,
        plans: known.plans,
      });
      expect(known.known).toBeGreaterThan(0);
    });
  }

  it('another process has the final plan from its first run on', async () => {
    const here = await outcomeOf(jobs.norms!);
    expect(here.isFirst).toBe(true);
    const script = join(import.meta.dirname, 'known-choices/other-process.ts');
    const text = execFileSync(process.execPath, [...withSources, script, 'norms'], {
      env: { ...process.env, TOSTATIC_CACHE: folder },
      encoding: 'utf8',
    });
    expect(JSON.parse(text)).toEqual({
      results: here.results.slice(0, 1),
      plan: here.plan,
      knownPlans: 1,
      isFirst: false,
    });
  });

  it('another version of the package searches for itself', async () => {
    const searched = await outcomeOf(jobs.layers!);
    released.version = `${version}-other`;
    expect(await outcomeOf(jobs.layers!)).toEqual(searched);
    expect(files()).toHaveLength(2);
    released.version = version;
    expect((await outcomeOf(jobs.layers!)).known).toBeGreaterThan(0);
  });

  it('files that are damaged, or of other searches, are replaced with one warning', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const searched = await outcomeOf(jobs.layers!);
    const [file] = files();
    const whole = readFileSync(file!);
    const choices = choicesIn(file!);
    const damaged: readonly Uint8Array[] = [
      whole.subarray(0, whole.length - 10),
      whole.map((byte, i) => (i === 60 ? byte ^ 1 : byte)),
      new Uint8Array(),
      new DataWriter().file({}),
      new DataWriter().file({ choices: choices.slice(1) }),
      new DataWriter().file({ choices: choices.slice(0, -1) }),
      new DataWriter().file({ choices: [...choices, ['order', null]] }),
    ];
    for (const bytes of damaged) {
      writeFileSync(file!, bytes);
      // There is a file, so that the first plan is the final one.
      const again = { ...searched, isFirst: false };
      expect(await outcomeOf(jobs.layers!)).toEqual(again);
      expect(readFileSync(file!)).toEqual(whole);
    }
    const told = warn.mock.calls.map(([text]) => String(text));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(`TOSTATIC_CACHE: ${file} is not used, and is written again`);
  });

  it('choices of any content leave every bit as it is', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { results } = await outcomeOf(jobs.layers!, budget);
    const [file] = files();
    const choices = choicesIn(file!);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(40), fc.nat(3), async (at, value, kind) => {
        const numbers: [list: number[], index: number][] = [];
        collect(choices, numbers);
        const copy = structuredClone(choices);
        const places: [list: number[], index: number][] = [];
        collect(copy, places);
        const [list, index] = places[at % places.length]!;
        if (kind === 0) list.splice(index, 1);
        else if (kind === 1) list.push(value);
        else list[index] = value;
        writeFileSync(file!, new DataWriter().file({ choices: copy }));
        expect((await outcomeOf(jobs.layers!, budget)).results).toEqual(results);
      }),
      { numRuns: Number(process.env.GENERATED_RUNS ?? 5), seed: 1 },
    );
  });

  it('a folder that cannot be written to costs one warning', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const file = join(folder, 'file');
    writeFileSync(file, '');
    vi.stubEnv('TOSTATIC_CACHE', file);
    await outcomeOf(jobs.layers!);
    await outcomeOf(jobs.layers!, bytes);
    expect(warn.mock.calls).toHaveLength(1);
  });
});

/** Every number in a list. */
function collect(value: unknown, found: [number[], number][]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'number' && Array.isArray(value)) found.push([value, Number(key)]);
    else collect(item, found);
  }
}
