import type { BackwardByNumbers } from '../program/higher-order-gradients.ts';
import type { ValueId } from '../program/program.ts';
import type { RunProgramNode } from './grad-node.ts';

/**
 * Returns the values that backwards may read which eager execution allows after the `earlier` ones; null if there is
 * none.
 */
export function neededByOpen(
  node: RunProgramNode,
  earlier: readonly BackwardByNumbers[],
): ReadonlySet<ValueId> | null {
  const { backward, subgraph, path } = node;
  const { gradOutputs, gradInputs } = backward;
  const numbers = node.consumed ? null : subgraph.numbersOf(node.scope);
  const isOpen = subgraph.recorded!.stillOpen({ earlier, path: path?.taken ?? null }, numbers);
  const needed = new Set<ValueId>();
  let isAnyOpen = false;
  gradOutputs.forEach((given, output) => {
    if (given === null) return;
    const targets = gradInputs.map((id, target) => id !== null && isOpen(output, target));
    const requested = { targets, outputs: new Set<number>() };
    const { retaining } = subgraph.backwards!.ofOutputs(new Set([output]), requested);
    if (retaining.gradInputs.every((id) => id === null)) return;
    isAnyOpen = true;
    for (const id of retaining.reads) needed.add(id);
  });
  return isAnyOpen ? needed : null;
}
