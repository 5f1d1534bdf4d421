import { noGrad } from '../autograd/grad-mode.ts';
import { tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { CompiledGraph } from './graph.ts';
import type { Runner } from './node/node.ts';
import { countOf, type Operand, type Value } from './values/host.ts';

/** Operators that return elements of their operands without repeating any. */
const rearranging = new Set([
  ...['Concat', 'Slice', 'Split', 'Transpose', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze'],
  'Identity',
]);

/** The results of constant folding are limited to this many times the constants' elements: files aren't trusted. */
const mostTimes = 4;

/**
 * Runs nodes that only rearrange constants of the file once, on import: exporters use such nodes to put a layer's gates
 * into ONNX's order. Learned weights don't count as constants.
 */
export class Folding {
  #room = 0;

  /** Adds a constant of the file. */
  add(value: Value): void {
    this.#room += mostTimes * countOf(value.shape);
  }

  /**
   * Returns the results of a node over constants; null if it must run with the model. `isOfNumbers` means that all
   * operands are JavaScript numbers.
   */
  fold(
    opType: string,
    run: Runner,
    operands: readonly Operand[],
    isOfNumbers: boolean,
  ): readonly Value[] | null {
    if (!isOfNumbers && !rearranging.has(opType)) return null;
    const values = operands.flatMap((operand) => operand ?? []);
    const count = values.reduce((sum, { shape }) => sum + countOf(shape), 0);
    const tensors = values.filter((value) => value instanceof Tensor);
    if (new Set(tensors).size < tensors.length || count > this.#room) return null;
    try {
      const results = noGrad(() => tidy(() => run(operands)));
      const list = Array.isArray(results) ? (results as readonly Value[]) : [results as Value];
      this.#room -= list.reduce((sum, { shape }) => sum + countOf(shape), 0);
      return list;
    } catch {
      // The model reports the error when it runs.
      return null;
    }
  }
}

/**
 * Disposes constants that only folded nodes read, except those for which `isKept` returns true. Returns the graph
 * without them, and with folded results in exclusive memory.
 */
export function withoutUnread(
  graph: CompiledGraph,
  folded: ReadonlySet<number>,
  isKept: (slot: number) => boolean,
): CompiledGraph {
  const read = new Set<number>();
  const visit = ({ steps, outputs }: CompiledGraph): void => {
    for (const slot of outputs) read.add(slot);
    for (const step of steps) {
      for (const slot of step.inputs) read.add(slot);
      if ('graphs' in step) step.graphs.forEach(visit);
    }
  };
  visit(graph);
  const unread: Value[] = [];
  const pruned = (part: CompiledGraph): CompiledGraph => ({
    ...part,
    steps: part.steps.map((step) =>
      'graphs' in step ? { ...step, graphs: step.graphs.map(pruned) } : step,
    ),
    constants: part.constants.flatMap(([slot, value]) => {
      if (read.has(slot) || isKept(slot)) {
        if (!folded.has(slot) || !(value instanceof Tensor)) return [[slot, value] as const];
        // A view would keep its entire base alive.
        unread.push(value);
        return [[slot, value.clone()] as const];
      }
      unread.push(value);
      return [];
    }),
  });
  const result = pruned(graph);
  for (const value of unread) if (value instanceof Tensor) value.dispose();
  return result;
}
