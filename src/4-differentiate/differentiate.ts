import { runBackward } from '../../runtime/backward/engine.ts';
import { contiguousMeta, isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { bind1, withInterceptor } from '../../runtime/ops/core/bind.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { mayBeList } from '../../runtime/program/list-ops.ts';
import { earlierSum } from '../../runtime/program/optional-gradients.ts';
import type { JointProgram, Program, ValueId } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { DifferentiateRegion, RegionOptions } from '../regions/append-control.ts';
import { fillGradients } from '../regions/fill-gradients.ts';
import { gradientNames } from '../regions/gradient-names.ts';
import { noteSameInputs, sameElements } from '../regions/same-tensors.ts';
import { arrivalsAt } from './arrivals.ts';
import { dropNeedlessSums } from './go-on-from-earlier.ts';
import { markOutputs } from './mark-outputs.ts';
import { replay, replayBuilder } from './replay.ts';

interface DifferentiateOptions extends RegionOptions {
  /** Whether the program is a region of another one. */
  readonly region?: boolean;
}

/**
 * In: a verified forward program, which inputs need a gradient, and of which outputs a caller may still request a
 * gradient (not outputs whose graph was freed by a backward inside the program). Out: the joint program. Guarantees:
 * its forward part is the program itself, op by op, with the same value ids; gradients are summed in the order of eager
 * backward.
 *
 * Method: the forward program is replayed with autograd recording traced tensors, and the eager engine then runs
 * backward over them. Eager and captured gradients therefore share one set of vjp rules and one engine, and can't
 * diverge.
 */
export function differentiate(
  forward: Program,
  needsGrad: readonly boolean[],
  differentiable: readonly boolean[],
  { region = false, continuesSums = false, sameInputs = [] }: DifferentiateOptions = {},
): JointProgram {
  const builder = replayBuilder();
  const idsOf = (group: readonly number[]) => group.map((i) => forward.inputs[i]!);
  noteSameInputs(builder, sameInputs.map(idsOf));
  return withInterceptor(builder, () => {
    const { tensors, positions, leaves } = replay(forward, needsGrad, builder, differentiateRegion);
    const forwardOps = builder.opCount;
    const outputs = forward.outputs.map((id) => tensors[id]!);
    const inputs = forward.inputs.map((id) => tensors[id]!);
    const gradients = outputs.map((output, i) => {
      // A region may return one of its operands; in a subgraph, that is the caller's own tensor.
      const flows = output.gradEdge || (region && output.requiresGrad);
      // The surrounding program may request gradients of only some of the region's results.
      return flows && differentiable[i] ? gradientInput(builder, output, region) : null;
    });
    // Follows the order of eager backward: contributions from ops after the region precede those from ops in it.
    const earlier = inputs.map((leaf) => {
      const isContinued = continuesSums && leaf.requiresGrad && !mayBeList(leaf);
      return isContinued ? gradientInput(builder, leaf, true) : null;
    });
    const roots = [...rootsOf(inputs, earlier), ...rootsOf(outputs, gradients)];
    // Only the surrounding program sees the results of a region.
    if (!region) markOutputs(outputs, gradients, builder);
    const starts = roots.map(({ tensor, gradient }) => {
      return { tensor, isSum: earlier.includes(gradient) };
    });
    const sameLeaves = sameInputs.map((group) => idsOf(group).map((id) => tensors[id]!));
    const names = gradientNames(starts, sameLeaves, !region, sameElements(builder, tensors));
    const { found, sums } = appendBackward(builder, roots, names, positions, region);
    const leafOf = (id: ValueId) => leaves.get(id) ?? tensors[id]!;
    // The program receives the gradients of leaves that it created itself.
    const leafOutputs = outputs.flatMap((output, i) =>
      found.has(output) && builder.isOwnLeaf(output) ? [i] : [],
    );
    const targets = [...forward.inputs.map(leafOf), ...leafOutputs.map((i) => outputs[i]!)];
    const idOf = (gradient: Tensor | null) => (gradient ? builder.valueOf(gradient) : null);
    const all = targets.map((leaf) => found.get(leaf) ?? null);
    const program = builder.finish(all.filter((id) => id !== null));
    const whole = { program, earlier: earlier.map(idOf), gradInputs: all };
    const kept = continuesSums ? dropNeedlessSums(whole) : whole;
    return {
      program: kept.program,
      forwardOps,
      forwardInputs: forward.inputs,
      forwardOutputs: forward.outputs,
      gradOutputs: [...gradients.map(idOf), ...(continuesSums ? kept.earlier : [])],
      gradInputs: kept.gradInputs,
      leafOutputs,
      // A region receives the earlier sums as inputs, so they need not be searched for.
      sums: targets.map((leaf) => (region ? [] : (sums.get(leaf) ?? []))),
      // The surrounding program delivers all gradients of a region together.
      arrivals: region
        ? []
        : arrivalsAt(
            targets,
            outputs.map((t, i) => (gradients[i] ? t : null)),
          ),
    };
  });
}

/** Pairs tensors with their gradients, where they have one. */
const rootsOf = (tensors: readonly Tensor[], gradients: readonly (Tensor | null)[]) =>
  tensors.flatMap((tensor, i) => {
    const gradient = gradients[i];
    return gradient ? [{ tensor, gradient }] : [];
  });

function gradientInput(builder: ProgramBuilder, tensor: Tensor, isOptional: boolean): Tensor {
  const gradient = builder.input(contiguousMeta(tensor, tensor.device));
  if (isOptional) builder.noteOptional(gradient, true);
  return gradient;
}

interface LeafGradients {
  readonly found: ReadonlyMap<Tensor, ValueId>;
  /** For each leaf, the partial sums of its gradient, in order. */
  readonly sums: ReadonlyMap<Tensor, readonly ValueId[]>;
}

/** Appends the backward ops: the eager engine runs backward over the tensors of the program. */
function appendBackward(
  builder: ProgramBuilder,
  roots: Parameters<typeof runBackward>[0],
  names: ReturnType<typeof gradientNames>,
  positions: ReturnType<typeof replay>['positions'],
  region: boolean,
): LeafGradients {
  const found = new Map<Tensor, ValueId>();
  const sums = new Map<Tensor, readonly ValueId[]>();
  // Contributions of other nodes come first; a region may know their leaf under another name.
  const before = (region ? [] : (names?.otherLeaves ?? [])).map((tensor) => {
    const gradient = bind1(earlierSum, [tensor]);
    sums.set(tensor.leaf, [builder.valueOf(gradient)]);
    return { tensor, gradient };
  });
  runBackward([...before, ...roots], {
    retainGraph: false,
    names,
    sink: (edge, gradient) => {
      if (!('leaf' in edge)) return;
      const strided = region && !isContiguousMeta(gradient);
      found.set(edge.leaf, builder.valueOf(strided ? bind1(copy, [gradient]) : gradient));
    },
    onLeafSum: (leaf, sum) => {
      sums.set(leaf, [...(sums.get(leaf) ?? []), builder.valueOf(sum)]);
    },
    onNode: (node, gradients) => {
      builder.at = positions.get(node);
      fillGradients(builder, node, gradients);
    },
  });
  return { found, sums };
}

/** Returns the joint program of a branch, loop body or call, in which all gradients are contiguous. */
export const differentiateRegion: DifferentiateRegion = (
  program,
  needsGrad,
  differentiable,
  options,
) => differentiate(program, needsGrad, differentiable, { region: true, ...options });
