import { describe, expect, it } from 'vitest';
import type { DType } from '../../runtime/spec/dtype.ts';
import { memory, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

const bytesOf = (x: Tensor): number[] => {
  const { buffer, byteOffset, byteLength } = x.dataSync();
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
};

const integers: readonly DType[] = ['uint8', 'int32'];
const reals: readonly DType[] = ['float16', 'bfloat16', 'float32', 'float64'];

describe('a captured function gives the bits of the eager one', () => {
  it.each([...integers, ...reals])('in %s', (dtype) => {
    tidy(() => {
      const f = (x: Tensor): Tensor => x.mul(3).add(200).mul(x).sub(7).floorDivide(2);
      const captured = toStatic(f, { fallback: 'error' });
      const x = tensor(
        [
          [1, 2, 3],
          [40, 50, 66],
        ],
        { dtype },
      );
      const expected = bytesOf(f(x));
      expect(bytesOf(captured(x))).toEqual(expected);
      expect(bytesOf(captured(x))).toEqual(expected);
      expect(captured(x).dtype).toBe(dtype);
    });
  });

  it.each(reals)('and its gradients, and the bytes that its plan says, in %s', (dtype) => {
    const loss = (x: Tensor, w: Tensor): Tensor => x.matmul(w).mul(0.11).exp().add(1).log().mean();
    const captured = toStatic(loss, { fallback: 'error' });
    const before = allocated();
    tidy(() => {
      const values = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i));
      const make = () => tensor(values, { dtype, shape: [8, 8], requiresGrad: true });
      const [x, eager, traced] = [tensor(values, { dtype, shape: [8, 8] }), make(), make()];
      loss(x, eager).backward();
      captured(x, traced).backward();
      expect(bytesOf(traced.grad!)).toEqual(bytesOf(eager.grad!));
      memory.reset();
      const start = allocated();
      const result = captured(x, traced);
      const { planned } = captured.programs()[0]!.stages!;
      // Halves are widened for the product: the plan counts that too.
      expect(memory.stats().peakAllocated - start).toBe(planned.forward.predicted.peakBytes);
      result.backward();
      for (const { grad } of [eager, traced]) grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });
});
