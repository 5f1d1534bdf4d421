import type { Code } from './code.ts';
import { effectOf, handlerOf, successors } from './effects.ts';
import type { Pc } from './instructions.ts';

/** Instructions that always run one after the other. */
export interface Block {
  readonly start: Pc;
  /** The last instruction. */
  readonly last: Pc;
  /**
   * Starts of the blocks that may come next: one per edge, so a block may stand there twice. The last
   * is the handler's when something in the block may throw into one.
   */
  readonly next: readonly Pc[];
  /** Position in reverse postorder: an edge to a block with the same or a lower one goes back. */
  readonly order: number;
  /** The blocks that this one, and no other, dominates directly; in reverse postorder. */
  readonly dominates: readonly Block[];
  /** Some edge goes back to it. */
  readonly isLoop: boolean;
  /** More than one forward edge comes in. */
  readonly isMerge: boolean;
}

/** The part of a code that can be reached from the instructions at which it is entered. */
export interface ControlGraph {
  readonly entry: Block;
  readonly blocks: ReadonlyMap<Pc, Block>;
  /** Every cycle is entered at one block only, so the graph can be written as nested loops. */
  readonly isReducible: boolean;
  /** Some block throws into a handler. */
  readonly catches: boolean;
}

interface Draft {
  start: Pc;
  last: Pc;
  next: readonly Pc[];
  order: number;
  dominator: Draft | undefined;
  dominates: Draft[];
  isLoop: boolean;
  isMerge: boolean;
}

/** With several entries, the graph is told as irreducible: none of them dominates the others. */
export function controlGraph(code: Code, entries: readonly Pc[]): ControlGraph {
  const order = reversePostorder(code, entries);
  const drafts = new Map(order.map((draft) => [draft.start, draft]));
  const before = new Map<Draft, Draft[]>(order.map((draft) => [draft, []]));
  for (const draft of order) for (const pc of draft.next) before.get(drafts.get(pc)!)!.push(draft);
  let isReducible = entries.length === 1;
  if (isReducible) findDominators(order, before);
  for (const draft of order) {
    draft.dominator?.dominates.push(draft);
    const back = before.get(draft)!.filter((from) => from.order >= draft.order);
    draft.isLoop = back.length > 0;
    draft.isMerge = before.get(draft)!.length - back.length > 1;
    if (!back.every((from) => isDominated(from, draft))) isReducible = false;
  }
  const catches = order.some(({ start, last }) => handlerIn(code, start, last) !== undefined);
  const entry = drafts.get(entries[0]!)!;
  return { entry, blocks: drafts, isReducible, catches };
}

function reversePostorder(code: Code, entries: readonly Pc[]): Draft[] {
  const leaders = findLeaders(code, entries);
  const order: Draft[] = [];
  const seen = new Set<Pc>();
  // An explicit stack: the depth is the length of the code.
  const stack: { draft: Draft | undefined; pending: Pc[] }[] = [
    { draft: undefined, pending: [...entries].reverse() },
  ];
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const pc = top.pending.pop();
    if (pc === undefined) {
      if (top.draft) order.push(top.draft);
      stack.pop();
    } else if (!seen.has(pc)) {
      seen.add(pc);
      const draft = draftAt(code, pc, leaders);
      stack.push({ draft, pending: [...draft.next] });
    }
  }
  order.reverse();
  for (const [index, draft] of order.entries()) draft.order = index;
  return order;
}

function findLeaders(code: Code, entries: readonly Pc[]): ReadonlySet<Pc> {
  const leaders = new Set<Pc>(entries);
  for (let pc = 0; pc < code.instructions.length; pc++) {
    if (goesOn(code, pc)) continue;
    for (const target of successors(code, pc)) leaders.add(target);
  }
  // A block lies in one region at most.
  for (const { start, end, target } of code.regions) leaders.add(start).add(end).add(target);
  return leaders;
}

function draftAt(code: Code, start: Pc, leaders: ReadonlySet<Pc>): Draft {
  let last = start;
  while (goesOn(code, last) && !leaders.has(last + 1)) last++;
  const handler = handlerIn(code, start, last);
  const next = [...successors(code, last), ...(handler === undefined ? [] : [handler])];
  const flags = { isLoop: false, isMerge: false };
  return { start, last, next, order: 0, dominator: undefined, dominates: [], ...flags };
}

function handlerIn(code: Code, start: Pc, last: Pc): Pc | undefined {
  for (let pc = start; pc <= last; pc++) {
    const handler = handlerOf(code, pc);
    if (handler) return handler.target;
  }
  return undefined;
}

const goesOn = (code: Code, pc: Pc): boolean => effectOf(code.instructions[pc]!).flow === 'next';

/** The simple fixed point of Cooper, Harvey and Kennedy. */
function findDominators(order: readonly Draft[], before: ReadonlyMap<Draft, Draft[]>): void {
  for (let changed = true; changed; ) {
    changed = false;
    for (const draft of order.slice(1)) {
      const known = before.get(draft)!.filter((from) => from.order === 0 || from.dominator);
      const dominator = known.reduce(commonDominator);
      if (draft.dominator === dominator) continue;
      draft.dominator = dominator;
      changed = true;
    }
  }
}

function commonDominator(a: Draft, b: Draft): Draft {
  let left = a;
  let right = b;
  while (left !== right) {
    if (left.order > right.order) left = left.dominator!;
    else right = right.dominator!;
  }
  return left;
}

function isDominated(draft: Draft, by: Draft): boolean {
  let at: Draft | undefined = draft;
  while (at && at.order > by.order) at = at.dominator;
  return at === by;
}
