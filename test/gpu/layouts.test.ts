import fc from 'fast-check';
import { describe, it } from 'vitest';
import { where } from '../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { laidOut, shapeOf, unrepeatedOf, viewOf } from './dtypes/laid-out.ts';
import { gpuForTests, skipGpu } from './open-gpu.ts';
import { expectParity } from './parity.ts';

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
    await fc.assert(
      fc.asyncProperty(shapeOf, unrepeatedOf, viewOf, async (shape, a, b) => {
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
