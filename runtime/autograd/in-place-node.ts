import { AutogradError } from '../errors/errors.ts';
import { copy } from '../ops/copy.ts';
import { type Attrs, type OpRecord, userName } from '../ops/define-op.ts';
import { executeEagerly } from '../ops/eager.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { retainAt } from './node.ts';
import { OpNode, targetsOf } from './op-node.ts';

/**
 * Runs a write in place and makes the target the result of it: its history goes on behind the write.
 * What backward needs of the target as it was is copied first. Only for a target whose memory no other
 * handle shows: the history of a view or of its base would be wrong, so that is refused.
 */
export function recordInPlace(
  op: OpRecord,
  attrs: Attrs,
  inputs: readonly Tensor[],
  run: () => Tensor,
): Tensor {
  const target = inputs[0]!;
  refuse(op, target);
  const targets = targetsOf(op, inputs);
  const before = readsTarget(op, inputs, targets) ? copyOf(target) : target;
  try {
    run();
    const saved = inputs.map((input) => (input === target ? before : input));
    target.setGradEdge({ node: new OpNode(op, attrs, targets, saved, [target]), index: 0 });
  } finally {
    if (before !== target) before.dispose();
  }
  if (target.retainsGrad) retainAt(target);
  return target;
}

/** A gradient that is needed reads the data that the write is about to replace. */
function readsTarget(
  op: OpRecord,
  inputs: readonly Tensor[],
  targets: ReturnType<typeof targetsOf>,
): boolean {
  return op.operands.some(({ name }, i) => {
    const saves: Readonly<Record<string, string | undefined>> = op.vjp?.[name]?.saves ?? {};
    if (!targets[i]) return false;
    return op.operands.some((own, at) => saves[own.name] === 'value' && inputs[at] === inputs[0]);
  });
}

function copyOf(x: Tensor): Tensor {
  return executeEagerly(copy, [x], {}, x.device)[0]!;
}

function refuse(op: OpRecord, target: Tensor): void {
  const name = userName(op);
  if (target.requiresGrad && target.isLeaf) {
    throw new AutogradError({
      what: `${name}: a write in place to a leaf where gradients are recorded`,
      given: `a ${formatSpec(target)} leaf that requires a gradient`,
      expected: 'a result, or gradients switched off',
      remedy: 'wrap the update in noGrad(() => …), or use the out-of-place form',
    });
  }
  if (!op.vjp) {
    throw new AutogradError({
      what: `${name}: a write in place where gradients are recorded`,
      given: `a ${formatSpec(target)} tensor and operands that require a gradient`,
      expected: 'an op whose gradient is known, or gradients switched off',
      remedy: 'wrap the update in noGrad(() => …), or use the out-of-place form',
    });
  }
  if (target.holderFor(name).handles > 1) {
    throw new AutogradError({
      what: `${name}: a write in place to memory that several tensors show`,
      given: `a ${formatSpec(target)} tensor that is a view, or has views or detached handles`,
      expected: 'the only handle on its memory, where gradients are recorded',
      remedy: 'write to a clone(), dispose the other handles first, or use the out-of-place form',
    });
  }
}
