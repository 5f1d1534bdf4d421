import fc from 'fast-check';
import { describe, it } from 'vitest';
import { tensor } from '../../runtime/ops/core/create.ts';
import { where } from '../../runtime/ops/pointwise/pointwise.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectParity } from './parity.ts';

interface View {
  /** Sorting keys of the dimensions. */
  readonly order: readonly number[];
  /** Elements cut off before and after, per dimension. */
  readonly cut: readonly (readonly [number, number])[];
  /** Dimensions that are stored once and repeated. */
  readonly repeated: readonly boolean[];
}

const rank = 3;
const viewOf = fc.record({
  order: fc.array(fc.nat(99), { minLength: rank, maxLength: rank }),
  cut: fc.array(fc.tuple(fc.nat(2), fc.nat(1)), { minLength: rank, maxLength: rank }),
  repeated: fc.array(fc.boolean(), { minLength: rank, maxLength: rank }),
});
const shapeOf = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: rank, maxLength: rank });

/** A tensor of the shape whose elements lie in memory in some other way. */
function laidOut(shape: readonly number[], { order, cut, repeated }: View, salt: number): Tensor {
  const by = [...shape.keys()].sort((a, b) => order[a]! - order[b]!);
  const stored = by.map((d) => (repeated[d] ? 1 : cut[d]![0] + shape[d]! + cut[d]![1]));
  const data = new Float32Array(sizeOf(stored)).map((_, i) => Math.sin(i * 1.7 + salt));
  let view = tensor(data, { shape: stored });
  by.forEach((d, at) => {
    if (!repeated[d]) view = view.narrow(at, cut[d]![0], shape[d]!);
  });
  return view.permute(shape.map((_, d) => by.indexOf(d))).expand(shape);
}

describe.skipIf(skipGpu)('gpu/layouts', () => {
  const gpu = gpuForTests();

  it('any layout of any operand gives what the CPU gives', async () => {
    await fc.assert(
      fc.asyncProperty(shapeOf, viewOf, viewOf, fc.nat(7), async (shape, a, b, choice) => {
        const bodies: ((x: Tensor, y: Tensor) => Tensor)[] = [
          (x, y) => x.mul(y).add(x),
          (x, y) => where(x.gt(y), x, y.neg()),
          (x, y) => x.matmul(y.transpose(1, 2)),
          (x) => x.sum([0, 2]),
          (x) => x.amax(1, { keepDim: true }),
          (x) => x.argmax(2),
          (x) => x.softmax(),
          (x) => x,
        ];
        await expectParity(gpu(), () =>
          bodies[choice]!(laidOut(shape, a, 0), laidOut(shape, b, 1)),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('writes into any view change what the CPU changes', async () => {
    const unrepeated = viewOf.map((view) => ({
      ...view,
      repeated: view.repeated.map(() => false),
    }));
    await fc.assert(
      fc.asyncProperty(shapeOf, unrepeated, viewOf, async (shape, a, b) => {
        await expectParity(gpu(), () => {
          const target = laidOut(shape, a, 0);
          target.add_(laidOut(shape, b, 1), 0.5);
          // The whole memory of the target, also what the view leaves out.
          const { holder, device } = target;
          const size = holder!.bytes / device.elementBytes('float32');
          const all = { dtype: 'float32' as const, shape: [size], strides: [1], offset: 0, device };
          return new (target.constructor as typeof Tensor)(all, holder!.retain());
        });
      }),
      { numRuns: 30 },
    );
  });
});
