import type { ValueId } from '../../../runtime/program/program.ts';
import { FlowNetwork } from '../../programs/max-flow.ts';
import type { ForwardFacts } from './forward-facts.ts';

/**
 * Returns the memory to keep from forward to backward so that the kept bytes plus `rate` bytes per recomputed
 * arithmetic operation are minimal. The cost of a value includes the whole chain down to kept values, so this is a
 * minimum cut of the program (Chaitanya and He, "Min-cut optimal recomputation", functorch, 2022). `free` is kept
 * anyway.
 *
 * The network has a node per memory, "backward has it", and a node per op, "runs again". Backward has what it reads and
 * what the ops that run again read. A memory that it has although its op doesn't run again is kept, and costs its
 * bytes.
 */
export function cheapestKept(
  facts: ForwardFacts,
  rate: number,
  free: ReadonlySet<ValueId>,
): ReadonlySet<ValueId> {
  const { network, made, again } = keptNetwork(facts, rate, free, facts.forward);
  network.maxFlow();
  const inCut = network.sourceSide();
  const runsAgain = (id: ValueId) => {
    const node = again.get(facts.definitionIndex(id));
    return node !== undefined && inCut(node);
  };
  return new Set(made.filter((id) => free.has(id) || !runsAgain(id)));
}

interface KeptNetwork {
  readonly network: FlowNetwork;
  /** The memories that the ops allocate. */
  readonly made: readonly ValueId[];
  /** The nodes of the ops that can run again. */
  readonly again: ReadonlyMap<number, number>;
}

/**
 * Returns the network whose minimum cut is the cheapest choice among the results of `ops`. `isRead`: which memory
 * backward reads.
 */
export function keptNetwork(
  facts: ForwardFacts,
  rate: number,
  free: ReadonlySet<ValueId>,
  ops: readonly number[],
  isRead = (id: ValueId) => facts.isReadByBackward(id),
): KeptNetwork {
  const network = new FlowNetwork();
  const had = new Map<ValueId, number>();
  const again = new Map<number, number>();
  const defined = ops.flatMap((index) =>
    facts.program.ops[index]!.outputs.filter((id) => facts.rootOf(id) === id),
  );
  for (const id of defined) {
    const index = facts.definitionIndex(id);
    had.set(id, network.addNode());
    if (facts.canRecompute(id) && !again.has(index)) again.set(index, network.addNode());
  }
  for (const [index, node] of again) {
    network.addEdge(node, FlowNetwork.sink, rate * facts.workOfOp(index));
    for (const id of facts.operandsOf(index)) {
      const operand = had.get(facts.rootOf(id));
      if (operand !== undefined) network.addEdge(node, operand, Number.POSITIVE_INFINITY);
    }
  }
  for (const id of defined) {
    const node = had.get(id)!;
    const bytes = free.has(id) ? 0 : facts.bytesOf(id);
    const op = facts.canRecompute(id) ? again.get(facts.definitionIndex(id))! : FlowNetwork.sink;
    network.addEdge(node, op, bytes);
    if (isRead(id)) network.addEdge(FlowNetwork.source, node, Number.POSITIVE_INFINITY);
  }
  return { network, made: defined, again };
}
