import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DataWriter, parseFile } from '../../runtime/save/file/container.ts';
import { type CapturedStats, toStatic } from '../../src/node/index.ts';
import { describeValues } from '../trace/snapshot.ts';
import { type StepName, steps } from './programs/steps.ts';

const names = ['schedule', 'breaks', 'effects', 'sizes'] as const;

let folder: string;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly found: unknown;
  readonly stats: CapturedStats;
  readonly warnings: readonly string[];
}

/** Runs a step in a folder with these files. */
function runWith(name: StepName, files: ReadonlyMap<string, Uint8Array>): Outcome {
  const own = join(folder, String(count++));
  mkdirSync(own);
  for (const [file, bytes] of files) writeFileSync(join(own, file), bytes);
  vi.stubEnv('TOSTATIC_CACHE', own);
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { fn, calls, state } = steps[name]();
  const captured = toStatic(fn, { strict: true });
  const found = calls.map((args) => describeValues([captured(...args), args, state?.()]));
  const warnings = warn.mock.calls.map(([text]) => String(text));
  warn.mockRestore();
  return { found, stats: captured.stats(), warnings };
}

/** The files of traces that a first run has left. */
function left(name: StepName): Map<string, Uint8Array> {
  runWith(name, new Map());
  const own = join(folder, String(count - 1));
  const files = readdirSync(own).filter((file) => file.endsWith('.trace'));
  return new Map(files.map((file) => [file, readFileSync(join(own, file))]));
}

function damaged(bytes: Uint8Array): Uint8Array[] {
  return [
    bytes.subarray(0, bytes.length - 70),
    bytes.map((byte, i) => (i === 60 ? byte ^ 1 : byte)),
    new Uint8Array(),
    new DataWriter().file({}),
    new DataWriter().file({ entries: [{}] }),
    new DataWriter().file({ entries: 1 }),
  ];
}

/** Every list and object in a value, with its keys. */
function* places(value: unknown): Generator<[holder: Record<string, unknown>, key: string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    yield [value as Record<string, unknown>, key];
    yield* places(Reflect.get(value, key));
  }
}

/** Of another type than anything that stands there, or a number that is none of anything. */
const odd: readonly unknown[] = ['~', { odd: [] }, [[[]]], 1e9, -1, 0.5, true];

describe('process-cache/damaged files', () => {
  it.each(names)('%s: are traced anew with one warning, and written again', (name) => {
    const whole = left(name);
    const { found } = runWith(name, new Map());
    const known = runWith(name, whole);
    expect(known.stats).toMatchObject({ translations: 0 });
    expect(known.found).toEqual(found);
    const [[file, bytes]] = whole as unknown as [[string, Uint8Array]];
    for (const each of damaged(bytes)) {
      const outcome = runWith(name, new Map([...whole, [file, each]]));
      expect(outcome.found).toEqual(found);
      expect(outcome.stats.translations).toBeGreaterThan(0);
      expect(outcome.warnings).toHaveLength(1);
      expect(outcome.warnings[0]).toMatch(
        /TOSTATIC_CACHE: .*\.trace is not used, and is written again/,
      );
      const again = readFileSync(join(folder, String(count - 1), file));
      expect(parseFile(again).header.get('entries').items().length).toBeGreaterThan(0);
    }
  });

  it.each(names)('%s: a part of another type is no internal error', (name) => {
    const whole = left(name);
    const { found } = runWith(name, new Map());
    let refused = 0;
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(odd.length - 1), (fileAt, at, kind) => {
        const file = [...whole.keys()][fileAt % whole.size]!;
        const header = structuredClone(parseFile(whole.get(file)!).header.value);
        const all = [...places(header)];
        const [holder, key] = all[at % all.length]!;
        holder[key] = odd[kind];
        const outcome = runWith(name, new Map([...whole, [file, new DataWriter().file(header)]]));
        if (outcome.stats.translations > 0) {
          refused++;
          expect(outcome.found).toEqual(found);
        }
      }),
      { numRuns: Number(process.env.GENERATED_RUNS ?? 40), seed: 1 },
    );
    expect(refused).toBeGreaterThan(10);
  });
});
