import { describe, expect, it } from 'vitest';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { type Tensor, tidy } from '../../src/index.ts';
import { allocated, expectClose } from '../ops/eager.ts';
import {
  computation,
  type Found,
  type RecordedFunction,
  type RecordedTensor,
  recordedFunctions,
} from './recorded.ts';

const tolerances = {
  float64: { relative: 1e-9, absolute: 1e-10 },
  float32: { relative: 2e-4, absolute: 2e-5 },
} as const;

type Precision = keyof typeof tolerances;

function compare(found: Found, record: RecordedFunction, precision: Precision): void {
  const close = (own: Tensor | null, expected: RecordedTensor | null, what: string) => {
    if (!own || !expected) {
      const lost = [own?.tolist(), expected?.tensor].flat(9).filter((x) => x !== undefined);
      expect(
        lost.every((x) => Number(x) === 0),
        `${what}: one is missing`,
      ).toBe(true);
      return;
    }
    expect(own.shape, `${what}: shape`).toEqual(expected.shape);
    const dtype = expected.dtype === 'float64' ? own.dtype : expected.dtype;
    expect([own.dtype, dtypes[own.dtype].floating], `${what}: dtype`).toEqual([
      dtype,
      dtypes[expected.dtype].floating,
    ]);
    expectClose(own.dataSync(), expected.tensor.map(Number), what, tolerances[precision]);
  };
  expect(found.outputs.length).toBe(record.outputs.length);
  record.outputs.forEach((own, i) => void close(found.outputs[i]!, own, `output ${i}`));
  record.grads?.forEach((own, i) => void close(found.grads[i]!, own, `gradient ${i}`));
  record.second?.forEach((own, i) => void close(found.second[i]!, own, `second gradient ${i}`));
}

const bits = ({ outputs, grads, second }: Found) =>
  [...outputs, ...grads, ...second].map((own) => own && [own.dtype, own.shape, own.tolist()]);

/** Their count of elements is that of the data. */
const dataDependent = ['nonzero', 'unique', 'uniqueConsecutive'];

describe("functions give PyTorch's recorded values and gradients", () => {
  for (const name of new Set(recordedFunctions.map((record) => record.name))) {
    const own = recordedFunctions.filter((record) => record.name === name);
    const check = (body: (record: RecordedFunction) => void) => {
      const before = allocated();
      own.forEach((record, i) => {
        try {
          tidy(() => body(record));
        } catch (error) {
          throw new Error(`${name} #${i}: ${(error as Error).message}`, { cause: error });
        }
      });
      expect(allocated()).toBe(before);
    };

    it.each(['float64', 'float32'] as const)(`${name} in %s`, (precision) => {
      check((record) => compare(computation(record, precision).eager(), record, precision));
    });

    it.skipIf(dataDependent.includes(name))(`${name} is one program, to the bit`, () => {
      check((record) => {
        const { eager, captured } = computation(record, 'float32');
        const f = captured();
        const expected = bits(eager());
        for (let call = 0; call < 2; call++) expect(bits(f())).toEqual(expected);
      });
    });
  }
});
