/** What each pass makes of small programs, held by files: UPDATE_FIXTURES=1 rewrites them. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printProgram } from '../../runtime/program/print.ts';
import { passNames } from '../../src/5-optimize/passes.ts';
import { deviceGuard, seed, Tensor, toStatic } from '../../src/index.ts';
import { type PassRecord, passObservers } from '../../src/programs/pass-record.ts';
import type { PassCase, PassCases } from './pass-case.ts';

const folder = join(import.meta.dirname, 'fixtures');
/** Cases of a pass, in `fixtures` or in the folder of its kind. */
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' });
const kebab = (name: string): string => name.replace(/[A-Z]/g, (each) => `-${each.toLowerCase()}`);

/** Results, what was written to the inputs, and gradients. */
function observed(run: PassCase['run'], inputs: readonly Tensor[]): unknown {
  seed(1);
  const result = run(...inputs);
  const results = (Array.isArray(result) ? result : [result]) as Tensor[];
  const [loss] = results;
  if (results.length === 1 && loss!.requiresGrad && loss!.numel() === 1) loss!.backward();
  const all = [...results, ...inputs, ...inputs.map(({ grad }) => grad)];
  return all.map((each) => (each instanceof Tensor ? [...each.dataSync()] : null));
}

/** The first program of the case that the pass changed, else the first that it saw. */
function changeOf(
  pass: string,
  { run, inputs, memory = {}, fullGraph = false, device }: PassCase,
): PassRecord {
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (record.pass === pass && !record.isFirst) records.push(record);
  });
  try {
    const traced = toStatic(run, { memory, fullGraph, strict: true });
    if (device) deviceGuard(device, () => toStatic.warmup(traced, ...inputs()));
    else expect(observed(traced, inputs())).toEqual(observed(run, inputs()));
    void traced.ready();
  } finally {
    unsubscribe();
  }
  expect(records.length, 'the pass ran').toBeGreaterThan(0);
  return records.find(({ applied }) => applied) ?? records[0]!;
}

function printed(title: string, { stage, applied, before, program }: PassRecord): string {
  const text = (each: PassRecord['program']) => printProgram(each, { positions: 'none' });
  const after = applied ? text(program) : 'unchanged\n';
  return `${title}\n\n── before (${stage}) ──\n${text(before)}\n── after ──\n${after}`;
}

let count = 0;

describe.each(passNames)('the pass %s', async (pass) => {
  const name = kebab(pass);
  const source = sources.find((path) => basename(path) === `${name}.ts`)!;
  const { cases } = (await import(join(folder, source))) as { cases: PassCases };
  const own = join(folder, dirname(source), name);
  const fileOf = (name: string): string => `${name.replace(/[^a-z0-9]+/gi, '-')}.txt`;
  count += Object.keys(cases).length;

  it.each(Object.entries(cases))('%s', (name, each) => {
    const record = changeOf(pass, each);
    const text = printed(`${pass}: ${name}`, record);
    const file = join(own, fileOf(name));
    if (process.env.UPDATE_FIXTURES) {
      mkdirSync(own, { recursive: true });
      writeFileSync(file, text);
    }
    expect(record.applied, 'the pass was applied').toBe(each.unchanged !== true);
    expect(existsSync(file), `${file} is there; UPDATE_FIXTURES=1 makes it`).toBe(true);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('has a fixture in which it is applied, and none of a case that is gone', () => {
    expect(Object.values(cases).some(({ unchanged }) => !unchanged)).toBe(true);
    const expected = Object.keys(cases).map(fileOf).sort();
    if (process.env.UPDATE_FIXTURES) {
      for (const file of readdirSync(own)) if (!expected.includes(file)) rmSync(join(own, file));
    }
    expect(readdirSync(own).sort()).toEqual(expected);
  });
});

it('there are more than sixty', () => {
  expect(count).toBeGreaterThan(60);
});
