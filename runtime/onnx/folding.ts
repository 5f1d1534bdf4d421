import { noGrad } from '../autograd/grad-mode.ts';
import { tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { CompiledGraph } from './graph.ts';
import type { Runner } from './node/node.ts';
import { countOf, type Operand, type Value } from './values/host.ts';

/** Operators that return elements of their operands, none of them twice. */
const rearranging = new Set([
  ...['Concat', 'Slice', 'Split', 'Transpose', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze'],
  'Identity',
]);

/** Files are not trusted: what is computed of their constants has at most so many elements for each of those. */
const mostTimes = 4;

/**
 * Nodes that only rearrange constants of the file, which are run once, when it is imported: exporters put the gates of a
 * layer into ONNX's order that way. Weights are learned, and no constants.
 */
export class Folding {
  #room = 0;

  /** A constant of the file. */
  add(value: Value): void {
    this.#room += mostTimes * countOf(value.shape);
  }

  /** Results of a node over constants; null where it has to be run with the model. `isOfNumbers`: JavaScript numbers alone. */
  fold(
    opType: string,
    run: Runner,
    operands: readonly Operand[],
    isOfNumbers: boolean,
  ): readonly Value[] | null {
    if (!isOfNumbers && !rearranging.has(opType)) return null;
    const given = operands.flatMap((operand) => operand ?? []);
    const count = given.reduce((sum, { shape }) => sum + countOf(shape), 0);
    const tensors = given.filter((value) => value instanceof Tensor);
    if (new Set(tensors).size < tensors.length || count > this.#room) return null;
    try {
      const results = noGrad(() => tidy(() => run(operands)));
      const list = Array.isArray(results) ? (results as readonly Value[]) : [results as Value];
      this.#room -= list.reduce((sum, { shape }) => sum + countOf(shape), 0);
      return list;
    } catch {
      // The error is that of the model, when it runs.
      return null;
    }
  }
}

/**
 * The graph without the constants that only folded nodes have read, which are disposed of, and with memory of their own for
 * the folded ones. `isKept` says which constants stay whatever reads them.
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
        // A view would keep all of what it is a view of.
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
