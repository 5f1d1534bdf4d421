import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { fillMissing } from '../../runtime/program/optional-gradients.ts';
import type { GradNode } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { ControlNode } from './control-node.ts';

/**
 * Runs before a node with several results: if only some of their gradients exist, passes zeros for the missing ones to
 * its rule, as in eager execution. The backward op of a control op handles missing gradients itself.
 */
export function fillGradients(
  builder: ProgramBuilder,
  node: GradNode,
  gradients: (Tensor | null)[],
): void {
  if (node instanceof ControlNode) return;
  const present = gradients.filter((gradient) => gradient !== null && gradient !== undefined);
  if (present.length < 2 || !present.some((each) => builder.isOptional(each))) return;
  const isSafe = present.some((each) => !builder.isOptional(each));
  gradients.forEach((gradient, i) => {
    if (!gradient || !builder.isOptional(gradient)) return;
    const others = isSafe ? [] : present.filter((each) => each !== gradient);
    gradients[i] = noGrad(() => bind1(fillMissing, [gradient, ...others]));
  });
}
