/**
 * Files whose parts have the right types, but refer to parts that are missing, or lack a guard: the function is traced
 * again, with one warning that names them.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DataWriter, parseFile } from '../../runtime/save/file/container.ts';
import { arange, checkpoint, keep, type Tensor, toStatic } from '../../src/node/index.ts';
import { describeValues } from '../trace/snapshot.ts';
import { type Step, steps } from './programs/steps.ts';

let folder: string;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const tensors = (x: Tensor) => {
  const y = x.mul(2).detach().requiresGrad_();
  const z = x.add(1);
  z.dispose();
  keep(y);
  return [y, z];
};
const rerun = (x: Tensor) => {
  const box = { factor: 2 };
  return [checkpoint((w: Tensor) => w.mul(box.factor).sin(), x.detach().requiresGrad_()), box];
};
const calls = () => [[arange(0, 4, 1).mul(0.5).reshape([2, 2])]];
type Name = 'effects' | 'breaks' | 'tensors' | 'rerun';
const functions: Readonly<Record<Name, () => Step>> = {
  effects: () => ({ ...steps.effects(), calls: calls() }),
  breaks: steps.breaks,
  tensors: () => ({ fn: tensors, calls: calls() }),
  rerun: () => ({ fn: rerun, calls: calls() }),
};

/** The parts of a trace in a file. */
// biome-ignore lint/suspicious/noExplicitAny: JSON.
type Parts = any[];

/** Where they are: properties are written in the order of the codec. */
const at = {
  ...{ guards: 0, inputs: 1, numbers: 2, needsGrad: 6, differentiable: 7, lost: 8, makes: 10 },
  ...{ effects: 11, outcome: 18, reruns: 19, reads: 20, optional: 21, same: 22, viewsOfOne: 23 },
};

/** Every variant of this kind: a list of the kind and its properties. */
function* variants(part: unknown, kind: string): Generator<Parts> {
  if (typeof part !== 'object' || part === null) return;
  if (Array.isArray(part) && part[0] === kind && Array.isArray(part[1])) yield part;
  for (const each of Object.values(part)) yield* variants(each, kind);
}

function first(part: unknown, kind: string): Parts {
  const [found] = variants(part, kind);
  if (!found) throw new Error(`no ${kind} in ${JSON.stringify(part)}`);
  return found;
}

const missing = 9;
type Edit = (trace: Parts) => void;

const refer =
  (part: number, kind: string): Edit =>
  (trace) =>
    first(trace[part], kind)[1].fill(missing);
const replace =
  (part: number, kind: string, by: Parts): Edit =>
  (trace) =>
    first(trace[part], kind).splice(0, 2, ...by);
const add =
  (part: number, value: unknown): Edit =>
  (trace) =>
    trace[part].push(value);
const drop =
  (part: number): Edit =>
  (trace) =>
    trace[part].pop();
const guard =
  (property: number, value: unknown): Edit =>
  (trace) => {
    first(trace[at.guards], 'tensor')[1][property] = value;
  };
/** Replaces a property of the called frame of a graph break, or of its caller. */
const frame =
  (index: number, property: number, value: unknown): Edit =>
  (trace) => {
    trace[at.outcome][1][2][index][property] = value;
  };

const options = [
  ['output', [0]],
  ['output', [missing]],
];
const size = ['size', [missing, 'n']];

/** By what the warning says. */
const damages: Readonly<Record<string, Readonly<Record<string, [Name, Edit]>>>> = {
  outputs: {
    'in an object': ['effects', refer(at.makes, 'output')],
    'in an effect': ['effects', refer(at.effects, 'output')],
    'that is a number': ['effects', replace(at.makes, 'output', ['scalar', [missing, 'number']])],
    'in a choice': [
      'effects',
      replace(at.makes, 'output', ['choice', [['constant', [true]], options]]),
    ],
    'in a list': ['effects', add(at.makes, ['list', [[missing], ['leaf', ['tensor']]]])],
    'that may have a gradient': ['effects', drop(at.differentiable)],
    'with a lost history': ['effects', drop(at.lost)],
    'that are read': ['effects', add(at.reads, missing)],
    'that are optional': ['effects', add(at.optional, missing)],
    'that are the same': ['effects', add(at.same, [missing, [], false])],
    'that are others': ['effects', add(at.same, [0, [[missing, true]], false])],
    'that require gradients': ['tensors', refer(at.effects, 'output')],
    'that are kept': ['tensors', replace(at.effects, 'keep', ['keep', [['output', [missing]]]])],
    'that are disposed': [
      'tensors',
      replace(at.effects, 'disposeOutput', ['disposeOutput', [['output', [missing]]]]),
    ],
    'as a condition': ['tensors', replace(at.effects, 'disposeOutput', ['disposeOutput', options])],
    'of a checkpoint': ['rerun', (trace) => trace[at.reruns][0][0].fill(missing)],
  },
  'objects that it makes': {
    'as a result': ['effects', refer(at.outcome, 'made')],
    'in an object': ['effects', refer(at.makes, 'made')],
    'of a checkpoint': ['rerun', (trace) => trace[at.reruns][0][2][0].fill(missing, 0, 1)],
    'as new.target': [
      'breaks',
      (trace) => {
        first(trace[at.outcome], 'inlined')[1][4] = ['made', [missing]];
      },
    ],
  },
  'sizes of results': {
    'in a number': ['effects', replace(at.makes, 'apply', size)],
    'in a guard': ['effects', add(at.guards, ['number', [size, 2]])],
  },
  inputs: {
    'of the program': ['effects', drop(at.inputs)],
    'that need gradients': ['effects', drop(at.needsGrad)],
    'that are views of one memory': ['effects', add(at.viewsOfOne, [0, missing])],
  },
  numbers: {
    'of the program': ['effects', (trace) => trace[at.numbers].push(trace[at.inputs][0])],
  },
  instructions: {
    'of a frame at entry': ['breaks', refer(at.outcome, 'entry')],
    'of a caller': ['breaks', frame(0, 1, 1e5)],
    'of a call': ['breaks', frame(1, 1, 1e5)],
    'with a register': ['breaks', frame(1, 4, [[1e5, ['output', [0]]]])],
    'with the register of a result': ['breaks', frame(1, 5, 1e5)],
  },
  'guards of its inputs': {
    'for a tensor': ['effects', replace(at.guards, 'tensor', ['gradMode', [true]])],
    'for a dtype': ['effects', guard(1, 'int32')],
    'for a rank': ['effects', guard(2, [2, 2, 2])],
    'for a size': ['effects', guard(2, [2, 'any'])],
    'for strides': ['effects', guard(3, 'any')],
    'for other strides': ['effects', guard(3, [1, 2])],
  },
};
const cases = Object.entries(damages).flatMap(([reason, damages]) =>
  Object.entries(damages).map(([what, [name, edit]]) => [reason, what, name, edit] as const),
);

/** Runs the function with the files in its folder, and returns what they are afterwards. */
function runWith(name: Name, files: ReadonlyMap<string, Uint8Array>) {
  const own = join(folder, String(count++));
  mkdirSync(own);
  for (const [file, bytes] of files) writeFileSync(join(own, file), bytes);
  vi.stubEnv('TOSTATIC_CACHE', own);
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const { fn, calls, state } = functions[name]();
  const captured = toStatic(fn, { strict: true });
  const found = calls.map((args) => describeValues([captured(...args), args, state?.()]));
  const warnings = warn.mock.calls.map(([text]) => String(text));
  warn.mockRestore();
  const names = readdirSync(own).filter((file) => file.endsWith('.trace'));
  const left = new Map(names.map((file) => [file, readFileSync(join(own, file))]));
  return { found, warnings, left, translations: captured.stats().translations };
}

const whole = new Map<string, ReturnType<typeof runWith>>();

it.each(cases)('%s %s', (reason, _, name, edit) => {
  const known = whole.get(name) ?? runWith(name, runWith(name, new Map()).left);
  expect(known).toMatchObject({ translations: 0, warnings: [] });
  whole.set(name, known);
  const files = [...known.left].map(([file, bytes]) => {
    const header = parseFile(bytes).header.value as { entries: [{ trace: Parts }] };
    return { file, header, trace: header.entries[0].trace };
  });
  // Only a graph break has frames.
  const { file, header, trace } = files.find((each) => {
    return name !== 'breaks' || each.trace[at.outcome][0] === 'break';
  })!;
  edit(trace);
  const outcome = runWith(name, new Map([...known.left, [file, new DataWriter().file(header)]]));
  expect(outcome.found).toEqual(known.found);
  expect(outcome.translations).toBeGreaterThan(0);
  expect(outcome.warnings).toEqual([expect.stringContaining(`${reason} that are not there`)]);
});
