import fc from 'fast-check';
import { it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import * as lib from '../../src/index.ts';
import { FullGraphError, Tensor, type ToStaticOptions, tensor, toStatic } from '../../src/index.ts';
import {
  type ImperativeProgram,
  imperativePrograms,
  imperativeText,
} from './imperative-programs.ts';
import { runs } from './runs.ts';

type Fn = (a: Tensor, b: Tensor, c: Tensor) => [Tensor, ...unknown[]];

const modes: readonly ToStaticOptions[] = [
  {},
  { fullGraph: true },
  { capture: 'auto' },
  { memory: 'cleaned' },
  { memory: { budget: 0.5 } },
];

/** Values to the last bit, with their layout. */
function shown(value: unknown): unknown {
  if (value instanceof Tensor) {
    const { dtype, shape, strides, requiresGrad } = value;
    return {
      dtype,
      shape,
      strides,
      requiresGrad,
      values: shown(value.reshape([-1]).toArraySync()),
    };
  }
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null)
    return Object.is(value, -0) ? '-0' : String(value);
  return Object.entries(value).map(([key, each]) => [key, shown(each)]);
}

/** Results, what was written to the arguments, gradients and errors of three calls; null: it is refused. */
function observed(
  fn: Fn & { ready?(): unknown },
  { data, gradients }: ImperativeProgram,
): unknown[] | null {
  const calls: unknown[] = [];
  for (let call = 0; call < 3; call++) {
    const own = data.slice(call * 10, call * 10 + 10).map((value) => value / 4);
    const args = [
      tensor([own.slice(0, 3), own.slice(3, 6)]),
      tensor(own.slice(6, 9)),
      tensor(own[9]!),
    ] as const;
    if (gradients) for (const arg of args) arg.requiresGrad_();
    try {
      const result = fn(...args);
      fn.ready?.();
      const seen = [shown(result)];
      if (gradients) result[0].backward();
      calls.push([seen, shown(args), shown(args.map(({ grad }) => grad))]);
    } catch (error) {
      if (error instanceof FullGraphError || (error as Error).name === 'CaptureError') return null;
      calls.push(String((error as Error).message).split('\n')[0]);
    }
  }
  return calls;
}

const recomputes = ({ memory }: (typeof modes)[number]): boolean =>
  typeof memory === 'object' && 'budget' in memory;

/** Within a budget backward reads more: what it recomputes from must not be written after the graph has ended. */
const isRefused = (call: unknown): boolean =>
  typeof call === 'string' && call.includes('a value that it needs was changed in place');

function check(program: ImperativeProgram): void {
  const make = () => new Function('ts', imperativeText(program))(lib) as Fn;
  const eager = JSON.stringify(observed(make(), program));
  for (const options of modes) {
    const found = observed(toStatic(make(), options), program);
    if (found === null && options.fullGraph) continue;
    if (JSON.stringify(found) === eager) continue;
    if (recomputes(options) && found?.some(isRefused)) continue;
    throw new Error(
      `${JSON.stringify(options)}:\n${imperativeText(program)}\n${JSON.stringify(found)}\nnot\n${eager}`,
    );
  }
}

it('imperative programs do captured what they do eagerly', { timeout: 3_600_000 }, () => {
  withCaptureSession(() => fc.assert(fc.property(imperativePrograms, check), runs(45)));
});
