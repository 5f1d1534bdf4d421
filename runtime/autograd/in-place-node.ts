import { type Attrs, userName } from '../device/kernel-op.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import { AutogradError } from '../errors/errors.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import type { OperandSharing } from '../ops/record/operand-sharing.ts';
import { retainAt, targetOf } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { OpNode, targetsOf } from './op-node.ts';
import { RebasedNode } from './rebased-node.ts';
import { isWritable, noteWrite, regionOf } from './view-family.ts';

/** The implementation of a write: eager, or as part of a program. */
interface WriteInPlace {
  /** Copies the target's old value; called only if backward needs it. */
  readonly before: () => Tensor;
  readonly write: (before: Tensor | null) => void;
}

/**
 * Performs a recorded in-place write: the target becomes the result of the write in the graph. If backward reads the
 * target's old value, that is copied first. A write through a view is a write to its base, visible through all other
 * views.
 */
export function recordInPlace(
  op: OpRecord,
  attrs: Attrs,
  inputs: readonly Tensor[],
  { before: copyTarget, write: run }: WriteInPlace,
): Tensor {
  const target = inputs[0]!;
  const alone = isAlone(target, op);
  const family = alone ? null : target.family;
  refuse(op, target, alone);
  const base = family?.base ?? target;
  const toBase = targetOf(base);
  const targets = targetsOf(op, inputs);
  const before = readsTarget(op, inputs, targets) ? copyTarget() : target;
  try {
    run(before === target ? null : before);
    const saved = inputs.map((input) => (input === target ? before : input));
    const write = new OpNode(op, attrs, targets, saved, [target]);
    const node = base === target ? write : new RebasedNode(toBase, write, regionOf(target, base));
    base.setGradEdge({ node, index: 0 });
    if (family) noteWrite(family);
  } finally {
    if (before !== target) before.dispose();
  }
  if (base.retainsGrad) retainAt(base);
  return target;
}

/** Whether a needed gradient reads the data that the write overwrites. */
function readsTarget(
  op: OpRecord,
  inputs: readonly Tensor[],
  targets: ReturnType<typeof targetsOf>,
): boolean {
  return inputs.some((input, at) => input === inputs[0] && reads(op, targets, at));
}

/** Whether a needed gradient reads the data of operand `at`. */
function reads(op: OpRecord, targets: ReturnType<typeof targetsOf>, at: number): boolean {
  return op.operands.some(({ name }, i) => {
    const saves: Readonly<Record<string, string | undefined>> = op.vjp?.[name]?.saves ?? {};
    return targets[i] && saves[op.operands[at]!.name] === 'value';
  });
}

/**
 * Returns the operands of an in-place write, copying each operand that the write would change before it is read,
 * either by the op or, if `recorded`, by its backward. Gradients flow through the copy to the operand.
 */
export function apartFromTarget(
  op: OpRecord,
  inputs: readonly Tensor[],
  recorded: boolean,
  sharingOf: (target: Tensor, operand: Tensor) => OperandSharing,
  copyOf: (operand: Tensor) => Tensor,
): readonly Tensor[] {
  let operands: Tensor[] | undefined;
  let targets: ReturnType<typeof targetsOf> | undefined;
  for (let at = 1; at < inputs.length; at++) {
    const input = inputs[at]!;
    if (input === inputs[0]) continue;
    const sharing = sharingOf(inputs[0]!, input);
    if (sharing === 'apart') continue;
    if (sharing === 'sameMemory') {
      if (!recorded) continue;
      targets ??= targetsOf(op, inputs);
      if (!reads(op, targets, at)) continue;
    }
    operands ??= [...inputs];
    operands[at] = copyOf(input);
  }
  return operands ?? inputs;
}

/** Returns the number of handles that share the target's memory. */
function handlesOn(target: Tensor, op: OpRecord): number {
  return target.traced?.sharing() ?? target.holderFor(userName(op)).handles;
}

/** Whether no other tensor follows a write to the target: no base and no other view of it is live. */
function isAlone(target: Tensor, op: OpRecord): boolean {
  if (handlesOn(target, op) === 1) return true;
  const { family } = target;
  return family?.base.disposed === true && family.lease.live === 1;
}

function refuse(op: OpRecord, target: Tensor, alone: boolean): void {
  const name = userName(op);
  const base = alone ? target : (target.family?.base ?? target);
  if (base.requiresGrad && base.isLeaf && !base.disposed)
    throw writeToLeaf(name, target, base === target);
  if (!op.vjp) {
    throw new AutogradError({
      what: `${name}: a write in place where gradients are recorded`,
      given: `a ${formatSpec(target)} tensor and operands that require a gradient`,
      expected: 'an op with a gradient, or gradients switched off',
      remedy: 'wrap the update in noGrad(() => …), or use the out-of-place form',
    });
  }
  if (alone || isReached(target, op)) return;
  throw new AutogradError({
    what: `${name}: a write in place to memory that several tensors show`,
    given: `a ${formatSpec(target)} tensor whose memory others show, too: a view made in noGrad, or one of several views of a disposed tensor`,
    expected: 'a tensor, or a view of it made where gradients are recorded',
    remedy: 'write to a clone(), dispose the other handles first, or use the out-of-place form',
  });
}

/** Returns the error for a write to a leaf; `isLeaf` is false for a view of a leaf. */
export function writeToLeaf(name: string, target: Tensor, isLeaf: boolean): AutogradError {
  return new AutogradError({
    what: `${name}: a write in place to a leaf where gradients are recorded`,
    given: `a ${formatSpec(target)} ${isLeaf ? 'leaf' : 'view of a leaf'} that requires a gradient`,
    expected: 'a result, or gradients switched off',
    remedy: 'wrap the update in noGrad(() => …), or use the out-of-place form',
  });
}

/** Whether the write reaches the base of the target, whose views follow it. Detached handles see the values alone. */
function isReached(target: Tensor, op: OpRecord): boolean {
  const { family } = target;
  const base = family?.base ?? target;
  if (base.disposed) return false;
  // The hidden base and its other views may be gone by now.
  if (base.hasHiddenBase && handlesOn(target, op) > (family?.lease.live ?? 1)) return false;
  return base === target || isWritable(target, base);
}
