/** Every class of error of the catalogue, thrown by a small function as a user meets it. */

import { expect, it, vi } from 'vitest';
import { invariant } from '../../../runtime/errors/invariant.ts';
import { TostaticError } from '../../../runtime/index.ts';
import type { Pass } from '../../../src/5-optimize/facts/pass.ts';
import { passes } from '../../../src/5-optimize/passes.ts';
import {
  arange,
  breakGraph,
  FullGraphError,
  load,
  loadProgram,
  save,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../../src/index.ts';
import { errorClasses } from '../../docs/diagnostics-page.ts';

const full = { fullGraph: true } as const;
const x = () => tensor([1, 2]);

async function failedCheck(): Promise<void> {
  const checked = toStatic((y: Tensor) => {
    if (y.sum().itemSync() > 5) throw new RangeError('large');
    return y.mul(2);
  }, full);
  checked(x());
  const loaded = await loadProgram(await save(checked));
  loaded(tensor([5, 6]));
}

/** A pass that is wrong. */
function differing(): unknown {
  const pass: Pass = passes.find(({ name }) => name === 'deadCode')!;
  vi.spyOn(pass, 'run').mockImplementation((given) => {
    const ops = given.program.ops.map((op) => ({ ...op, attrs: { ...op.attrs, value: 3 } }));
    return { ...given, program: { ...given.program, ops } };
  });
  try {
    return toStatic((y: Tensor) => y.mul(2), { ...full, check: 1 })(x());
  } finally {
    vi.restoreAllMocks();
  }
}

const thrown: Record<string, () => unknown> = {
  ShapeError: () => toStatic((y: Tensor) => y.matmul(tensor([[1, 2, 3]])), full)(x()),
  DTypeError: () => tensor([1, 2], { dtype: 'int32' }).requiresGrad_(),
  DeviceError: () => x().to('gpu'),
  DisposedError: () => {
    const y = x();
    y.dispose();
    return toStatic((z: Tensor) => z.mul(2), full)(y);
  },
  AutogradError: () => x().sum().backward(),
  OutOfMemoryError: () => zeros([2 ** 40, 2 ** 40]),
  DataError: () => load(new Uint8Array(8)),
  ArgumentError: () => toStatic(() => arange(0, 4, 0), full)(),
  CaptureError: () => toStatic(new Proxy((y: Tensor) => y, {}), { fallback: 'error' })(x()),
  CheckError: differing,
  FullGraphError: () => toStatic(() => breakGraph(), full)(),
  FailedCheck: failedCheck,
  InvariantError: () => invariant(false, 'this test breaks it'),
};

/** Met only while a program is built, where they become reasons of the graph's end. */
const inside = { RecordedWriteInPlace: 'in-place', ShapeDependsOnData: 'data-size' };

it('each has a case', () => {
  expect([...Object.keys(thrown), ...Object.keys(inside)].sort()).toEqual(
    Object.keys(errorClasses).sort(),
  );
});

it.each(Object.entries(thrown))('%s', async (name, run) => {
  let error: unknown;
  try {
    await run();
  } catch (caught) {
    error = caught;
  }
  expect((error as Error | undefined)?.constructor.name).toBe(name);
  expect((error as Error).message).not.toBe('');
  if (!(error instanceof TostaticError)) return;
  for (const fact of [error.given, error.expected, error.remedy]) expect(fact).not.toBe('');
});

const refused: Record<keyof typeof inside, (y: Tensor) => Tensor> = {
  RecordedWriteInPlace: (y) => {
    const z = y.mul(2);
    if (y.sum().itemSync() > 0) z.mul_(y);
    return z;
  },
  ShapeDependsOnData: (y) => y.to('int32').histc(),
};

it.each(Object.entries(inside))('%s is met as the reason %s', (name, reason) => {
  const graph = toStatic(refused[name as keyof typeof inside], full);
  let error: unknown;
  try {
    tidy(() => graph(x().requiresGrad_()));
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(FullGraphError);
  expect((error as FullGraphError).record.reason).toBe(reason);
});
