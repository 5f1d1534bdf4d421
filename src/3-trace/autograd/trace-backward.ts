/** The engine's backward walk over a traced graph. Its ops become part of the program. */

import type { gradWith } from '../../../runtime/backward/grad.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { condOp } from '../../../runtime/program/control-ops.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { ControlNode, refusedAt } from '../../regions/control-node.ts';
import { fillGradients } from '../../regions/fill-gradients.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isLeaf, mayBeFreedBelow, nodesBelow } from '../state/recorded-graph.ts';
import { asEagerly, RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Perform } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TensorVariable } from '../variables/variable.ts';
import { expectLeaf, outerHooks, siteOf } from './hooks.ts';

type Watch = NonNullable<Parameters<typeof gradWith>[3]>;

/** Runs a backward and marks the visited nodes as freed, unless the graph is retained. */
export function watched<T>(
  builder: ProgramBuilder,
  { retainGraph, onFreed }: { retainGraph: boolean; onFreed: OnFreed },
  run: (watch: Watch) => T,
): T {
  const nodes: GradNode[] = [];
  const outside = builder.differentiates;
  builder.differentiates = true;
  let result: T;
  try {
    result = run({
      isConsumed: (node) => builder.freedNodes.isFreed(node),
      onNode: (node, gradients) => {
        nodes.push(node);
        fillGradients(builder, node, gradients);
      },
    });
  } finally {
    builder.differentiates = outside;
  }
  if (!retainGraph) {
    const freed = nodes.filter(({ readsSaved }) => readsSaved);
    builder.freedNodes.note(freed);
    onFreed(freed);
  }
  return result;
}

type OnFreed = (nodes: readonly GradNode[]) => void;

/**
 * Watches nodes that a branch or loop frees: the caller can't differentiate a graph that is freed only on some paths.
 */
export function watchFreed(t: Tracer): OnFreed {
  if (!t.isInRegion) return () => {};
  const site = siteOf(t, 'a branch or loop frees a graph that the caller may still use');
  return (nodes) => {
    for (const node of nodes) t.autograd.watched.set(node, site);
  };
}

/** Throws a graph break if it is data-dependent whether an earlier backward has freed the graph. */
function expectNotFreed(t: Tracer, roots: readonly Tensor[]): void {
  if (!roots.some((root) => mayBeFreedBelow(root, t.builder))) return;
  throw new GraphBreak(
    'branch-gradient',
    'backward() of a graph that a branch or loop may have freed',
  );
}

/** Runs the engine, which is replayed for other sizes unless it calls user hooks. */
export function traceBackward(
  t: Tracer,
  roots: readonly Tensor[],
  operands: readonly unknown[],
  run: Perform,
): unknown {
  expectNotFreed(t, roots);
  for (const each of t.autograd.checkpoints) each.expectSameWork();
  const leaves = leavesBelow(t, roots);
  const hooked = leaves.flatMap(({ variable, tensor }) => {
    const hooks = outerHooks(t, variable);
    return hooks.length > 0 ? [{ tensor, hooks }] : [];
  });
  keepHookOrder(t, roots, new Set(hooked.map(({ tensor }) => tensor)));
  if (hooked.length === 0 && !t.autograd.callsUser) {
    return throughRegions(t, () => asEagerly(() => t.perform(operands, run)));
  }
  for (const { tensor, hooks } of hooked) tensor.hooks = hooks;
  try {
    return throughRegions(t, () =>
      asEagerly(() => t.attempt(() => t.runOnce(() => run(operands, t.builder)))),
    );
  } finally {
    for (const { tensor } of hooked) tensor.hooks = null;
  }
}

/**
 * A branch delivers the gradients of its operands together, where eager execution calls hooks in the order of the ops
 * on the path. If several of these leaves have hooks, restarts the trace without the branch, if possible.
 */
function keepHookOrder(t: Tracer, roots: readonly Tensor[], hooked: ReadonlySet<Tensor>): void {
  if (hooked.size < 2 || t.control.isInLoop) return;
  for (const root of roots) {
    for (const node of nodesBelow(root)) {
      if (!(node instanceof ControlNode) || node.name !== condOp.name) continue;
      const hookedTargets = node.targets.filter((to) => to && 'leaf' in to && hooked.has(to.leaf));
      if (hookedTargets.length > 1) t.control.avoid(node);
    }
  }
}

/** If a recorded backward reaches a branch or loop, restarts the trace without that region, if possible. */
function throughRegions<T>(t: Tracer, body: () => T): T {
  try {
    return body();
  } catch (error) {
    const node = error instanceof RejectedEagerly ? refusedAt(error.cause) : undefined;
    if (node) t.control.avoid(node);
    throw error;
  }
}

/** Returns the outer tensors that receive gradients, all of which must be leaves. */
function leavesBelow(
  t: Tracer,
  roots: readonly Tensor[],
): { readonly variable: TensorVariable; readonly tensor: Tensor }[] {
  const leaves = new Set<Tensor>();
  for (const root of roots) for (const node of nodesBelow(root)) if (isLeaf(node)) leaves.add(node);
  return [...leaves].flatMap((tensor) => {
    const variable = t.result(tensor);
    if (!variable.source) return [];
    expectLeaf(t, variable);
    return [{ variable, tensor }];
  });
}
