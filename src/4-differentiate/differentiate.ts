import { runBackward } from '../../runtime/autograd/engine.ts';
import { enableGrad, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { registerHook } from '../../runtime/autograd/hooks.ts';
import type { GradNode } from '../../runtime/autograd/node.ts';
import { InvariantError, invariant } from '../../runtime/errors/invariant.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import { bind, bind1, withInterceptor } from '../../runtime/ops/bind.ts';
import { copy } from '../../runtime/ops/copy.ts';
import type { OpRecord } from '../../runtime/ops/define-op.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import {
  callBackwardOp,
  condBackwardOp,
  whileBackwardOp,
} from '../../runtime/program/control-ops.ts';
import { outputGradientOp } from '../../runtime/program/output-gradient-op.ts';
import type { JointProgram, Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { contiguousMeta, isContiguousMeta, type TensorMeta } from '../../runtime/tensor/meta.ts';
import { isDense } from '../../runtime/tensor/shape.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { appendCall } from '../regions/append-call.ts';
import { appendControl, type DifferentiateRegion } from '../regions/append-control.ts';
import { fillGradients } from '../regions/fill-gradients.ts';

/**
 * In: a verified forward program, which of its inputs need a gradient, and which of its outputs anybody
 * may still ask for one (not those whose graph a backward inside the program has used up).
 * Out: the joint program. Guarantees: its forward part is the program itself, op by op, with the same
 * value ids; gradients are summed in the same order as eager backward sums them.
 *
 * Method: the forward program is replayed with autograd recording on traced tensors, then the eager
 * engine runs backward over them. So there is one set of vjp rules and one engine, and a difference
 * between eager and static gradients has no place to come from.
 */
export function differentiate(
  forward: Program,
  needsGrad: readonly boolean[],
  differentiable: readonly boolean[],
  { region = false }: { readonly region?: boolean } = {},
): JointProgram {
  const builder = new ProgramBuilder(() => {
    throw new InvariantError('a tensor with data in a program that is being differentiated');
  });
  return withInterceptor(builder, () => {
    const { tensors, positions, leaves } = replay(forward, needsGrad, builder);
    const forwardOps = builder.opCount;
    const outputs = forward.outputs.map((id) => tensors[id]!);
    const gradients = outputs.map((output, i) => {
      // A region may answer an operand itself; of a subgraph that is the caller's own tensor.
      const flows = output.gradEdge || (region && output.requiresGrad);
      if (!flows || !differentiable[i]) return null;
      const gradient = builder.input(contiguousMeta(output, output.device));
      // What follows a region may ask for some of its results alone.
      if (region) builder.noteMissing(gradient, true);
      return gradient;
    });
    const found = new Map<Tensor, ValueId>();
    const roots = outputs.flatMap((tensor, i) => {
      const gradient = gradients[i];
      return gradient ? [{ tensor, gradient }] : [];
    });
    const sums = new Map<Tensor, readonly ValueId[]>();
    // What leaves a region is seen by nobody but the program around it.
    if (!region) markOutputs(outputs, gradients, builder);
    runBackward(roots, {
      retainGraph: false,
      sink: (place, gradient) => {
        if (!('leaf' in place)) return;
        const strided = region && !isContiguousMeta(gradient);
        found.set(place.leaf, builder.valueOf(strided ? bind1(copy, [gradient]) : gradient));
      },
      onLeafSum: (leaf, sum) => {
        sums.set(leaf, [...(sums.get(leaf) ?? []), builder.valueOf(sum)]);
      },
      onNode: (node, gradients) => {
        builder.at = positions.get(node);
        fillGradients(builder, node, gradients);
      },
    });
    const leafOf = (id: ValueId) => leaves.get(id) ?? tensors[id]!;
    // Leaves that the program itself has made: what comes to them is theirs.
    const leafOutputs = outputs.flatMap((output, i) =>
      found.has(output) && builder.isOwnLeaf(output) ? [i] : [],
    );
    const targets = [...forward.inputs.map(leafOf), ...leafOutputs.map((i) => outputs[i]!)];
    const gradInputs = targets.map((leaf) => found.get(leaf) ?? null);
    const gradOutputs = gradients.map((gradient) => (gradient ? builder.valueOf(gradient) : null));
    return {
      program: builder.finish(gradInputs.filter((id) => id !== null)),
      forwardOps,
      forwardInputs: forward.inputs,
      forwardOutputs: forward.outputs,
      gradOutputs,
      gradInputs,
      leafOutputs,
      sums: targets.map((leaf) => sums.get(leaf) ?? []),
    };
  });
}

/** Names the complete gradient of each output that other outputs depend on. */
function markOutputs(
  outputs: readonly Tensor[],
  gradients: readonly (Tensor | null)[],
  builder: ProgramBuilder,
): void {
  for (const output of new Set(outputs)) {
    const numbers = [...outputs.keys()].filter((i) => outputs[i] === output && gradients[i]);
    if (numbers.length === 0 || !output.gradEdge) continue;
    const seeds = numbers.map((i) => builder.valueOf(gradients[i]!));
    registerHook(output, (gradient) => {
      const isSeed = seeds.length === 1 && builder.valueOf(gradient) === seeds[0];
      if (isSeed) return null;
      // Where elements are repeated, or others lie between, nothing else could take the place.
      const { shape, strides } = gradient;
      // A value of an open shape has no strides that mean anything, and is contiguous.
      const isWhole = isContiguousMeta(gradient) || isDense(shape, strides);
      const whole = isWhole ? gradient : bind1(copy, [gradient]);
      return bind1(outputGradientOp, [whole], { outputs: numbers });
    });
  }
}

/** The joint program of a branch or loop body: all its gradients are contiguous. */
export const differentiateRegion: DifferentiateRegion = (program, needsGrad, differentiable) =>
  differentiate(program, needsGrad, differentiable, { region: true });

/** All but the tape. */
function resultsOf({ values }: Program, { outputs }: ProgramOp): TensorMeta[] {
  return outputs.slice(0, -1).map((id) => values[id]!);
}

function undoes(op: OpRecord): boolean {
  return op === condBackwardOp || op === whileBackwardOp || op === callBackwardOp;
}

function replay(forward: Program, needsGrad: readonly boolean[], builder: ProgramBuilder) {
  const tensors: Tensor[] = [];
  const positions = new Map<GradNode, UserPosition | undefined>();
  /** Inputs to which gradients flow from a place in the program on. */
  const leaves = new Map<ValueId, Tensor>();
  const define = (id: ValueId, tensor: Tensor) => {
    invariant(builder.valueOf(tensor) === id, 'replay gives every value its own id again');
    tensors[id] = tensor;
  };
  forward.inputs.forEach((id, i) => {
    define(id, builder.input(forward.values[id]!).requiresGrad_(needsGrad[i]!));
  });
  for (const op of forward.ops) {
    builder.at = op.at;
    const inputs = op.inputs.map((id) => tensors[id]!);
    builder.copyBefore = op.before === undefined ? null : tensors[op.before]!;
    const mode = op.recordsGrad ? enableGrad : noGrad;
    const outputs = mode(() => {
      const { regions, call, attrs } = op;
      if (undoes(op.op)) {
        // A backward inside the program: no gradient of its own comes through it.
        const metas = op.outputs.map((id) => forward.values[id]!);
        const inside = { ...(regions && { regions }), ...(call && { call }) };
        return builder.control(op.op, inputs, attrs, inside, metas);
      }
      if (call)
        return appendCall(builder, call, inputs, resultsOf(forward, op), differentiateRegion);
      return regions
        ? appendControl(builder, op.op, inputs, regions, differentiateRegion)
        : bind(op.op, inputs, attrs);
    });
    if (op.op === aliasOp && op.attrs.leaf) outputs[0]!.requiresGrad_();
    if (op.op === aliasOp && op.attrs.leaf === 'outer') leaves.set(op.inputs[0]!, outputs[0]!);
    op.outputs.forEach((id, i) => {
      const output = outputs[i]!;
      define(id, output);
      if (output.gradEdge) positions.set(output.gradEdge.node, op.at);
    });
  }
  builder.copyBefore = null;
  return { tensors, positions, leaves };
}
