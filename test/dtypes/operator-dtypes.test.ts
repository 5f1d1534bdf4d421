/**
 * Every operator of the table with its operands in every dtype: it computes as in the promoted dtype, or
 * rejects them with an error of its own. On halves it gives the float32 result, rounded once.
 */

import { describe, expect, it } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { Tensor, tensor } from '../../runtime/index.ts';
import { cast } from '../../runtime/ops/core/cast.ts';
import { type DType, dtypes, promote } from '../../runtime/spec/dtype.ts';
import { isHalf } from '../../runtime/spec/half.ts';
import { numbersOf, storedNumbers } from '../../runtime/spec/stored-numbers.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { adapters } from '../opinfo/adapters.ts';
import { callAdapter } from '../opinfo/arguments.ts';
import { opinfo } from '../opinfo/operators-doc.ts';
import { isRecordedTensor, readSamples, type Sample, toTensor } from '../opinfo/samples.ts';
import { allocated, expectClose } from '../ops/eager.ts';

const samples = readSamples(opinfo);
const ops = [...new Set(samples.map(({ op }) => op))].filter((op) => adapters[op]);
const allDTypes = Object.keys(dtypes) as DType[];

/** Puts the recorded tensors of a value into `found`, in order. */
function recordedIn(value: unknown, found: DType[]): void {
  if (isRecordedTensor(value)) found.push(toTensor(value, 'float32').dtype);
  else if (Array.isArray(value)) for (const item of value) recordedIn(item, found);
}

function recordedDTypes({ input, args, kwargs }: Sample): DType[] {
  const found: DType[] = [];
  recordedIn([input, ...args, ...Object.values(kwargs)], found);
  return found;
}

interface Outcome {
  readonly outputs: readonly Tensor[];
  readonly gradients: readonly (Tensor | null)[];
}

/** The sample's call with its tensors stored as `stored` and then cast to `dtypes`. */
function call(
  { op, input, args, kwargs }: Sample,
  stored: readonly DType[],
  given: readonly DType[],
): Outcome {
  const leaves: Tensor[] = [];
  let next = 0;
  const built = (value: unknown): unknown => {
    if (isRecordedTensor(value)) {
      const i = next++;
      const plain = toTensor({ ...value, grad: false }, 'float64');
      const made = cast(cast(plain, stored[i]!), given[i]!);
      if (!value.grad || !dtypes[given[i]!].floating) return made;
      const leaf = made === plain ? made : made.detach();
      leaves.push(leaf.requiresGrad_());
      return leaf;
    }
    if (Array.isArray(value)) return value.map(built);
    if (value === 'Infinity' || value === '-Infinity' || value === 'NaN') return Number(value);
    return value;
  };
  const [x, ...rest] = [input, ...args].map(built);
  const keywords = Object.fromEntries(
    Object.entries(kwargs).map(([name, own]) => [name, built(own)]),
  );
  const result = callAdapter(adapters[op]!, [x, ...rest], keywords);
  const outputs = result instanceof Tensor ? [result] : result;
  for (const output of outputs) {
    if (output.dtype !== 'bool') continue;
    expect(
      output.dataSync().every((byte) => byte <= 1),
      'a bool is 0 or 1',
    ).toBe(true);
  }
  const roots = outputs.filter((output) => output.requiresGrad);
  const gradients =
    roots.length === 0
      ? []
      : grad(roots, leaves, {
          gradOutputs: roots.map((root) => seedFor(root)),
          allowUnused: true,
        });
  gradients.forEach((gradient, i) => {
    if (gradient) expect(gradient.dtype, 'dtype of a gradient').toBe(leaves[i]!.dtype);
  });
  return { outputs, gradients };
}

/** Few digits: every dtype holds them. */
function seedFor(like: Tensor): Tensor {
  const { shape, dtype } = like;
  const values = Array.from({ length: like.numel() }, (_, i) => ((i * 5) % 8) / 4 - 0.75);
  return tensor(storedNumbers(values, dtype, 'test'), { shape, dtype });
}

/** The same, or null where the operator rejects the dtypes. */
function attempt(
  sample: Sample,
  stored: readonly DType[],
  given: readonly DType[],
): Outcome | null {
  try {
    return call(sample, stored, given);
  } catch (error) {
    if (error instanceof TostaticError) return null;
    throw error;
  }
}

const numbers = (x: Tensor) => numbersOf(x.dataSync(), x.dtype);

/** Backward of these keeps halves, so that what their products leave is rounded before the sum. */
const roundsItsProduct = new Set([
  'nn.functional.linear',
  'nn.functional.conv1d',
  'nn.functional.conv2d',
  'nn.functional.conv_transpose1d',
  'nn.functional.conv_transpose2d',
]);

function sweep(op: string, body: (sample: Sample) => void): void {
  it(op, () => {
    const before = allocated();
    samples
      .filter((sample) => sample.op === op)
      .forEach((sample, i) => {
        try {
          tidy(() => body(sample));
        } catch (error) {
          const { message } = error as Error;
          throw new Error(`${op} ${sample.variant} #${i}: ${message}`, { cause: error });
        }
      });
    expect(allocated()).toBe(before);
  });
}

describe.each(['float16', 'bfloat16'] as const)('operators round once: %s', (half) => {
  for (const op of ops) {
    sweep(op, (sample) => {
      const own = recordedDTypes(sample);
      const stored = own.map((dtype) => (dtypes[dtype].floating ? half : dtype));
      if (!stored.includes(half)) return;
      const wide = stored.map((dtype) => (dtype === half ? ('float32' as const) : dtype));
      const expected = attempt(sample, stored, wide);
      if (!expected) return;
      const { outputs } = call(sample, stored, stored);
      outputs.forEach((output, i) => {
        const reference = expected.outputs[i]!;
        if (roundsItsProduct.has(op)) {
          const unit = half === 'float16' ? 2 ** -11 : 2 ** -8;
          const largest = Math.max(...numbers(reference).map(Math.abs));
          const tolerance = { relative: 0, absolute: 4 * unit * largest };
          expectClose(numbers(output), numbers(reference), `output ${i}`, tolerance);
          return;
        }
        const rounded = reference.dtype === 'float32' ? half : reference.dtype;
        expect(output.dtype, `output ${i}: dtype`).toBe(rounded);
        expect([...numbers(output)], `output ${i}`).toEqual([...numbers(cast(reference, rounded))]);
      });
    });
  }
});

describe('operators compute mixed dtypes in the promoted one', () => {
  for (const op of ops) {
    sweep(op, (sample) => {
      const own = recordedDTypes(sample);
      for (let k = 0; k < own.length; k++) {
        for (const dtype of allDTypes) {
          const mixed = own.map((other, i) => (i === k ? dtype : other));
          const what = mixed.join(', ');
          try {
            tidy(() => {
              const found = attempt(sample, mixed, mixed);
              if (!found || !dtypes[dtype].floating || !dtypes[own[k]!].floating) return;
              const floats = mixed.filter((other) => dtypes[other].floating);
              const target = floats.reduce(promote);
              const all = mixed.map((other) => (dtypes[other].floating ? target : other));
              const expected = call(sample, mixed, all);
              found.outputs.forEach((output, i) => {
                const tolerance = isHalf(output.dtype) ? 2 ** -5 : 1e-4;
                expectClose(numbers(output), numbers(expected.outputs[i]!), `output ${i}`, {
                  relative: tolerance,
                  absolute: tolerance,
                });
              });
            });
          } catch (error) {
            throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
          }
        }
      }
    });
  }
});
