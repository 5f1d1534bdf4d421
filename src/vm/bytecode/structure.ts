import type { Code } from './code.ts';
import { successors } from './effects.ts';
import type { Pc } from './instructions.ts';

/** A natural loop. `body`: the instructions from which control can return to the header. */
export interface Loop {
  readonly header: Pc;
  readonly body: ReadonlySet<Pc>;
  /** Where control continues after the loop, ascending. */
  readonly exits: readonly Pc[];
}

/** The structure of a function's control flow, without exceptions that leave it. */
export interface Structure {
  /**
   * For each instruction, the first instruction that all paths from it to the `return`s reach. Null if there is
   * none before the return, undefined if no return is reachable.
   */
  readonly merges: readonly (Pc | null | undefined)[];
  /** Loops by header, inner loops after outer ones. */
  readonly loops: ReadonlyMap<Pc, Loop>;
}

const known = new WeakMap<Code, Structure>();

export function structureOf(code: Code): Structure {
  let structure = known.get(code);
  if (!structure) {
    const graph = graphOf(code);
    structure = { merges: findMerges(graph), loops: findLoops(graph) };
    known.set(code, structure);
  }
  return structure;
}

interface Graph {
  readonly next: readonly (readonly Pc[])[];
  readonly before: readonly Pc[][];
  readonly returns: readonly Pc[];
}

function graphOf(code: Code): Graph {
  const next = code.instructions.map((_, pc) => successors(code, pc));
  const before: Pc[][] = next.map(() => []);
  for (const [pc, targets] of next.entries())
    for (const target of targets) before[target]!.push(pc);
  const returns = code.instructions.flatMap(({ op }, pc) => (op === 'return' ? [pc] : []));
  return { next, before, returns };
}

/** Computes postdominators: the dominators of the reversed graph, by Cooper, Harvey and Kennedy. */
function findMerges({ next, before, returns }: Graph): (Pc | null | undefined)[] {
  const end = next.length;
  const order = [end, ...reachedFrom(returns, before)];
  const rank = new Map(order.map((pc, index) => [pc, index]));
  const after = (pc: Pc): readonly Pc[] => (returns.includes(pc) ? [end] : next[pc]!);
  const merge = new Map<Pc, Pc>([[end, end]]);
  const common = (a: Pc, b: Pc): Pc => {
    let [left, right] = [a, b];
    while (left !== right) {
      if (rank.get(left)! > rank.get(right)!) left = merge.get(left)!;
      else right = merge.get(right)!;
    }
    return left;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const pc of order.slice(1)) {
      const found = after(pc)
        .filter((each) => merge.has(each))
        .reduce(common);
      if (merge.get(pc) === found) continue;
      merge.set(pc, found);
      changed = true;
    }
  }
  return next.map((_, pc) => {
    const found = merge.get(pc);
    return found === end ? null : found;
  });
}

/** Returns everything that leads to the starts, in reverse postorder of the reversed edges. */
function reachedFrom(starts: readonly Pc[], before: readonly (readonly Pc[])[]): Pc[] {
  const order: Pc[] = [];
  const seen = new Set<Pc>();
  for (const start of starts) {
    if (seen.has(start)) continue;
    seen.add(start);
    const stack = [{ pc: start, pending: [...before[start]!] }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1]!;
      const pc = top.pending.pop();
      if (pc === undefined) {
        order.push(top.pc);
        stack.pop();
      } else if (!seen.has(pc)) {
        seen.add(pc);
        stack.push({ pc, pending: [...before[pc]!] });
      }
    }
  }
  return order.reverse();
}

/**
 * Finds the natural loop of each header, which is marked by an edge back to an instruction on the current path.
 */
function findLoops(graph: Graph): Map<Pc, Loop> {
  const bodies = new Map<Pc, Set<Pc>>();
  const done = new Set<Pc>();
  const underWay = new Set<Pc>([0]);
  const stack = [{ pc: 0, pending: [...graph.next[0]!] }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const pc = top.pending.pop();
    if (pc === undefined) {
      underWay.delete(top.pc);
      done.add(top.pc);
      stack.pop();
    } else if (underWay.has(pc)) {
      collectBody(graph, pc, top.pc, bodies);
    } else if (!done.has(pc)) {
      underWay.add(pc);
      stack.push({ pc, pending: [...graph.next[pc]!] });
    }
  }
  const loops = [...bodies].map(([header, body]): [Pc, Loop] => {
    const exits = [...body].flatMap((pc) => graph.next[pc]!.filter((each) => !body.has(each)));
    return [header, { header, body, exits: [...new Set(exits)].sort((a, b) => a - b) }];
  });
  return new Map(loops.sort(([, a], [, b]) => b.body.size - a.body.size));
}

function collectBody({ before }: Graph, header: Pc, from: Pc, bodies: Map<Pc, Set<Pc>>): void {
  const body = bodies.get(header) ?? new Set([header]);
  bodies.set(header, body);
  const pending = [from];
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    if (body.has(pc)) continue;
    body.add(pc);
    pending.push(...before[pc]!);
  }
}
