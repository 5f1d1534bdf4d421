import { registerHook } from '../../runtime/backward/hooks.ts';
import { isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { outputGradientOp } from '../../runtime/program/output-gradient-op.ts';
import { isDense } from '../../runtime/spec/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** Names the complete gradient of each output that other outputs or values depend on. */
export function markOutputs(
  outputs: readonly Tensor[],
  gradients: readonly (Tensor | null)[],
  builder: ProgramBuilder,
  isMarked: (output: number) => boolean = (i) => gradients[i] !== null,
): void {
  for (const output of new Set(outputs)) {
    const numbers = [...outputs.keys()].filter((i) => outputs[i] === output && isMarked(i));
    if (numbers.length === 0 || !output.gradEdge) continue;
    const seeds = numbers.flatMap((i) => {
      const seed = gradients[i];
      return seed ? [builder.valueOf(seed)] : [];
    });
    registerHook(output, (gradient) => {
      const isSeed = seeds.length === 1 && builder.valueOf(gradient) === seeds[0];
      if (isSeed) return null;
      // A gradient with repeated elements, or with gaps between them, can't be replaced by another tensor.
      const { shape, strides } = gradient;
      // A value with unbacked sizes has no meaningful strides, and is contiguous.
      const isWhole = isContiguousMeta(gradient) || isDense(shape, strides);
      const whole = isWhole ? gradient : bind1(copy, [gradient]);
      return bind1(outputGradientOp, [whole], { outputs: numbers });
    });
  }
}
