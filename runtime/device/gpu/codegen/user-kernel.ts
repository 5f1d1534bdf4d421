import type { UserKernel } from '../../../ops/user-kernel.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { contiguousStrides } from '../../../tensor/shape.ts';
import { input, type KernelPlan, output, singleStage } from '../kernel-plan.ts';
import { divisionCode } from './index-code.ts';
import { StageWriter, thread } from './stage-writer.ts';

/** One thread per element of the result runs the user's function, in which elements are those of flat arrays. */
export function userKernelPlan(
  kernel: UserKernel,
  inputs: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
): KernelPlan {
  const w = new StageWriter();
  const [x = 1, y = 1, z = 1] = out!.shape.toReversed();
  // Names that no variable of the user has.
  w.line(...divisionCode(thread, x, 'tsRow', 'tsX'));
  w.line(...divisionCode('tsRow', y, 'tsZ', 'tsY'));
  const arrays = inputs.map((_, i) => w.array(input(i)));
  const { lines, result } = kernel.text({
    thread: { x: 'tsX', y: 'tsY', z: 'tsZ' },
    output: { x: `${x}`, y: `${y}`, z: `${z}` },
    read: (operand, indices) => {
      const strides = contiguousStrides(inputs[operand]!.shape);
      const terms = indices.map((index, dim) => {
        return strides[dim] === 1 ? `(${index})` : `(${index})*${strides[dim]}`;
      });
      return arrays[operand]!.at(terms.join('+') || '0');
    },
  });
  w.line(...lines);
  return singleStage(w.into(output(0), out!, result));
}
