/** Any value as an argument of what the package exports beside its main entries: the error is one of the library. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import * as weights from '../../runtime/weights/index.ts';
import * as exporting from '../../src/export/index.ts';
import { memory, nn, ones, registerBackend, TostaticError, toStatic } from '../../src/index.ts';
import * as tensorboard from '../../src/tensorboard/index.ts';
import { wrongValues } from './calls/calls.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-entries-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript
type Any = any;

const captured = toStatic((x) => x.add(1));
const writer = () => new tensorboard.SummaryWriter(folder);

/** Functions with valid arguments, of which each in turn is replaced. */
const valid: Readonly<
  Record<string, readonly [call: (...args: Any[]) => unknown, ...args: unknown[]]>
> = {
  torchName: [weights.torchName, 'fcOut'],
  openWeights: [weights.openWeights, new Uint8Array(0)],
  saveSafetensors: [
    (state, options) => weights.saveSafetensors(state, undefined, options),
    { a: ones([1]) },
    {},
  ],
  saveNpy: [weights.saveNpy, ones([1])],
  saveNpz: [weights.saveNpz, { a: ones([1]) }],
  loadInto: [
    async (...args) => (await opened()).loadInto(...(args as [Any])),
    new nn.Identity(),
    {},
  ],
  tensor: [async (name, device) => (await opened()).tensor(name, device), 'a', 'cpu'],
  info: [async (name) => (await opened()).info(name), 'a'],
  state: [async (device) => (await opened()).state(device), 'cpu'],
  exportOnnx: [exporting.exportOnnx, captured, {}],
  exportModule: [exporting.exportModule, captured, {}],
  exportStableHLO: [exporting.exportStableHLO, captured, {}],
  SummaryWriter: [
    (path) => new tensorboard.SummaryWriter(typeof path === 'string' ? join(folder, path) : path),
    folder,
  ],
  addScalar: [(...args) => writer().addScalar(...(args as [Any, Any, Any])), 'loss', 1, 0],
  addHistogram: [
    (...args) => writer().addHistogram(...(args as [Any, Any, Any])),
    'w',
    ones([2]),
    0,
  ],
  addImage: [(...args) => writer().addImage(...(args as [Any, Any, Any])), 'x', ones([1, 2, 2]), 0],
  addGraph: [(fn) => writer().addGraph(fn), captured],
  registerBackend: [registerBackend, { name: 'mine', compile: () => null }],
  'memory.record': [memory.record, () => 1],
  'memory.log': [(write) => memory.log(write)(), () => {}],
};

const opened = async () => weights.openWeights(await weights.saveSafetensors({ a: ones([1]) }));

it('every exported function and method with parameters is tried', () => {
  const functions = [weights, exporting, tensorboard].flatMap((entry) => Object.keys(entry));
  const methods = [tensorboard.SummaryWriter].flatMap(({ prototype }) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype))
      .filter(
        ([name, { value }]) =>
          typeof value === 'function' && value.length > 0 && name !== 'constructor',
      )
      .map(([name]) => name),
  );
  const lookups = ['has'];
  expect(
    [...functions, ...methods].filter((name) => !valid[name] && !lookups.includes(name)),
  ).toEqual([]);
});

it.each(Object.entries(valid))('%s', async (_name, [call, ...args]) => {
  const problems: string[] = [];
  for (const at of args.keys()) {
    for (const [kind, make] of Object.entries(wrongValues)) {
      const changed = [...args];
      changed[at] = make();
      try {
        await call(...changed);
      } catch (error) {
        if (!(error instanceof TostaticError)) problems.push(`argument ${at}, ${kind}: ${error}`);
      }
    }
  }
  expect(problems).toEqual([]);
});
