import { enableGrad, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { InvariantError, invariant } from '../../runtime/errors/invariant.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import { bind } from '../../runtime/ops/core/bind.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import {
  callBackwardOp,
  condBackwardOp,
  whileBackwardOp,
} from '../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { GradNode } from '../../runtime/tensor/grad-node.ts';
import { requireGrad } from '../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { appendCall } from '../regions/append-call.ts';
import { appendControl, type DifferentiateRegion } from '../regions/append-control.ts';

interface Replayed {
  /** Tensors by value id. */
  readonly tensors: readonly Tensor[];
  readonly positions: ReadonlyMap<GradNode, UserPosition | undefined>;
  /** Inputs that gradients flow to from some position of the program on. */
  readonly leaves: ReadonlyMap<ValueId, Tensor>;
}

/** Returns a builder for a program that is differentiated, in which no tensor has data. */
export function replayBuilder(): ProgramBuilder {
  return new ProgramBuilder(() => {
    throw new InvariantError('a tensor with data in a program that is being differentiated');
  });
}

/** Returns the metas of all results except the tape. */
function resultsOf({ values }: Program, { outputs }: ProgramOp): TensorMeta[] {
  return outputs.slice(0, -1).map((id) => values[id]!);
}

/** Returns the device on which the op ran when it was traced, under any device guard. */
function deviceOf({ values }: Program, { inputs, outputs }: ProgramOp): Device | null {
  const id = outputs[0] ?? inputs[0];
  return id === undefined ? null : values[id]!.device;
}

function isBackwardOp(op: OpRecord): boolean {
  return op === condBackwardOp || op === whileBackwardOp || op === callBackwardOp;
}

/** The targets of gradients: the inputs, then outputs that are leaves created by the program. */
export function targetsOf(
  { inputs, outputs }: Program,
  tensors: readonly Tensor[],
  leaves: ReadonlyMap<ValueId, Tensor>,
  leafOutputs: readonly number[],
): readonly Tensor[] {
  return [
    ...inputs.map((id) => leaves.get(id) ?? tensors[id]!),
    ...leafOutputs.map((i) => tensors[outputs[i]!]!),
  ];
}

/**
 * Replays the forward program op by op with autograd recording; each value keeps its id. `positions` maps backward
 * nodes to the positions of their ops.
 */
export function replay(
  forward: Program,
  needsGrad: readonly boolean[],
  builder: ProgramBuilder,
  differentiateRegion: DifferentiateRegion,
): Replayed {
  const tensors: Tensor[] = [];
  const positions = new Map<GradNode, UserPosition | undefined>();
  const leaves = new Map<ValueId, Tensor>();
  const define = (id: ValueId, tensor: Tensor) => {
    invariant(builder.valueOf(tensor) === id, 'replay gives every value its own id again');
    tensors[id] = tensor;
  };
  forward.inputs.forEach((id, i) => {
    define(id, requireGrad(builder.input(forward.values[id]!), needsGrad[i]!));
  });
  const read = new Set(forward.ops.flatMap(({ inputs }) => inputs));
  for (const op of forward.ops) {
    builder.at = op.at;
    builder.checkpointed = op.checkpoint;
    const inputs = op.inputs.map((id) => tensors[id]!);
    builder.copyBefore = op.before === undefined ? null : tensors[op.before]!;
    const mode = op.recordsGrad ? enableGrad : noGrad;
    const outputs = mode(() => {
      const { regions, call, attrs } = op;
      if (isBackwardOp(op.op)) {
        // A backward inside the program: no gradient flows through it.
        const metas = op.outputs.map((id) => forward.values[id]!);
        const inside = { ...(regions && { regions }), ...(call && { call }) };
        return builder.control(op.op, inputs, attrs, inside, metas);
      }
      // The tape of a branch, loop or call has no other readers than its backward.
      const hasBackward = read.has(op.outputs.at(-1)!);
      if (call) {
        const results = resultsOf(forward, op);
        return appendCall(builder, call, inputs, results, differentiateRegion, hasBackward);
      }
      return regions
        ? appendControl(builder, op.op, inputs, regions, differentiateRegion, hasBackward)
        : deviceGuard(deviceOf(forward, op), () => bind(op.op, inputs, attrs));
    });
    if (op.op === aliasOp && op.attrs.leaf) requireGrad(outputs[0]!);
    if (op.op === aliasOp && op.attrs.leaf === 'outer') leaves.set(op.inputs[0]!, outputs[0]!);
    op.outputs.forEach((id, i) => {
      const output = outputs[i]!;
      define(id, output);
      if (output.gradEdge) positions.set(output.gradEdge.node, op.at);
    });
  }
  builder.copyBefore = null;
  builder.checkpointed = undefined;
  return { tensors, positions, leaves };
}
