import type { Code } from './code.ts';
import { addDispatchers, functionEntry, type Route } from './dispatchers.ts';
import { effectOf, handlerOf, successors, suspends } from './effects.ts';
import type { Pc } from './instructions.ts';

/** A basic block; or a dispatcher, which contains no instructions. */
export interface Block {
  /** Negative for dispatchers. */
  readonly start: Pc;
  /** The last instruction. */
  readonly last: Pc;
  /**
   * Starts of the successor blocks, one per edge, so that a block may occur twice. The last one is the handler if
   * an instruction of the block may throw into it.
   */
  readonly next: readonly Pc[];
  /** The handler of exceptions in the block. */
  readonly handler: Pc | undefined;
  /** The position in reverse postorder. An edge to a block of the same or a lower order is a back edge. */
  readonly order: number;
  /** The blocks that it immediately dominates, in reverse postorder. */
  readonly dominates: readonly Block[];
  /** True if a back edge leads to it. */
  readonly isLoop: boolean;
  /** True if several forward edges or an exception edge lead to it. */
  readonly isMerge: boolean;
  /** A dispatcher's routes to the entries; all other paths continue at `next[0]`. */
  readonly routes?: readonly Route[];
}

/** The part of a code that is reachable from its entries. */
export interface ControlGraph {
  readonly entry: Block;
  readonly blocks: ReadonlyMap<Pc, Block>;
  /**
   * True if every cycle has a single entry block and exceptions go forward, so that the graph can be written as
   * nested loops and blocks.
   */
  readonly isReducible: boolean;
  /** True if a block throws into a handler. */
  readonly catches: boolean;
  /** Dispatchers by the header of the loop that they precede. */
  readonly dispatchers: ReadonlyMap<Pc, Pc>;
}

interface Draft {
  start: Pc;
  last: Pc;
  next: readonly Pc[];
  handler: Pc | undefined;
  order: number;
  dominator: Draft | undefined;
  dominates: Draft[];
  isLoop: boolean;
  isMerge: boolean;
  routes?: readonly Route[];
}

const noStops: ReadonlySet<Pc> = new Set();

/**
 * With several entries, the graph is irreducible, since no entry dominates the others. With `dispatches`, the
 * graph is entered at a dispatcher, which leads to the requested entry. Each loop that contains an entry gets a
 * dispatcher, too, so that every loop still has a single entry block. At `stops`, execution ends.
 */
export function controlGraph(
  code: Code,
  entries: readonly Pc[],
  dispatches = false,
  stops = noStops,
): ControlGraph {
  const plain = draftsOf(code, entries, true, stops);
  if (!dispatches || entries.length === 1) return finish(plain, entries, new Map());
  const loops = naturalLoops(plain, entries[0]!);
  if (!loops) return finish(plain, entries, new Map());
  const drafts = draftsOf(code, entries, false, stops);
  const dispatchers = addDispatchers(drafts, entries, loops, (start, next, routes) => ({
    ...draft(start, start, next, undefined),
    routes,
  }));
  return finish(drafts, [functionEntry], dispatchers);
}

type Drafts = Map<Pc, Draft>;

function finish(
  drafts: Drafts,
  entries: readonly Pc[],
  dispatchers: ReadonlyMap<Pc, Pc>,
): ControlGraph {
  const order = reversePostorder(drafts, entries);
  const before = predecessors(drafts, order);
  let isReducible = entries.length === 1;
  if (isReducible) findDominators(order, before);
  for (const draft of order) {
    draft.dominator?.dominates.push(draft);
    const from = before.get(draft)!;
    const back = from.filter((each) => each.order >= draft.order);
    const thrown = from.filter((each) => each.handler === draft.start);
    draft.isLoop = back.length > 0;
    draft.isMerge = from.length - back.length > 1 || thrown.length > 0;
    if (!back.every((each) => isDominated(each, draft))) isReducible = false;
    if (thrown.some((each) => each.order >= draft.order)) isReducible = false;
  }
  const catches = order.some(({ handler }) => handler !== undefined);
  const blocks = new Map(order.map((draft) => [draft.start, draft]));
  return { entry: drafts.get(entries[0]!)!, blocks, isReducible, catches, dispatchers };
}

function predecessors(drafts: Drafts, order: readonly Draft[]): Map<Draft, Draft[]> {
  const before = new Map<Draft, Draft[]>(order.map((draft) => [draft, []]));
  for (const draft of order) for (const pc of draft.next) before.get(drafts.get(pc)!)!.push(draft);
  return before;
}

function reversePostorder(drafts: Drafts, entries: readonly Pc[]): Draft[] {
  const order: Draft[] = [];
  const seen = new Set<Pc>();
  // An explicit stack, since the depth grows with the length of the code.
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
      const draft = drafts.get(pc)!;
      stack.push({ draft, pending: [...draft.next] });
    }
  }
  order.reverse();
  for (const [index, draft] of order.entries()) draft.order = index;
  return order;
}

/** Returns all reachable blocks. `through`: continue across suspensions, which leave the function. */
function draftsOf(code: Code, entries: readonly Pc[], through = true, stops = noStops): Drafts {
  const leaders = findLeaders(code, [...entries, ...stops]);
  const drafts: Drafts = new Map();
  const pending = [...entries];
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    if (drafts.has(pc)) continue;
    const ends = stops.has(pc);
    const found = ends ? draft(pc, pc, [], undefined) : draftAt(code, pc, leaders, through);
    drafts.set(pc, found);
    pending.push(...found.next);
  }
  return drafts;
}

/**
 * Returns the body of each loop by its header; undefined if an entry is unreachable or a loop has several entries.
 */
function naturalLoops(drafts: Drafts, entry: Pc): Map<Pc, Set<Pc>> | undefined {
  const order = reversePostorder(drafts, [entry]);
  if (order.length < drafts.size) return undefined;
  const before = predecessors(drafts, order);
  findDominators(order, before);
  const loops = new Map<Pc, Set<Pc>>();
  for (const header of order) {
    const back = before.get(header)!.filter((each) => each.order >= header.order);
    if (!back.every((each) => isDominated(each, header))) return undefined;
    if (back.length === 0) continue;
    const body = new Set([header.start]);
    const pending = [...back];
    for (let each = pending.pop(); each; each = pending.pop()) {
      if (body.has(each.start)) continue;
      body.add(each.start);
      pending.push(...before.get(each)!);
    }
    loops.set(header.start, body);
  }
  return loops;
}

function findLeaders(code: Code, entries: readonly Pc[]): ReadonlySet<Pc> {
  const leaders = new Set<Pc>(entries);
  for (let pc = 0; pc < code.instructions.length; pc++) {
    if (fallsThrough(code, pc)) continue;
    for (const target of successors(code, pc)) leaders.add(target);
  }
  // A block lies in at most one region.
  for (const { start, end, target } of code.regions) leaders.add(start).add(end).add(target);
  return leaders;
}

function draftAt(code: Code, start: Pc, leaders: ReadonlySet<Pc>, through: boolean): Draft {
  let last = start;
  while (fallsThrough(code, last) && !leaders.has(last + 1)) last++;
  const handler = handlerIn(code, start, last);
  const leaves = !through && suspends(code.instructions[last]!);
  const next = [
    ...(leaves ? [] : successors(code, last)),
    ...(handler === undefined ? [] : [handler]),
  ];
  return draft(start, last, next, handler);
}

function draft(start: Pc, last: Pc, next: readonly Pc[], handler: Pc | undefined): Draft {
  const flags = { isLoop: false, isMerge: false };
  return { start, last, next, handler, order: 0, dominator: undefined, dominates: [], ...flags };
}

function handlerIn(code: Code, start: Pc, last: Pc): Pc | undefined {
  for (let pc = start; pc <= last; pc++) {
    const handler = handlerOf(code, pc);
    if (handler) return handler.target;
  }
  return undefined;
}

const fallsThrough = (code: Code, pc: Pc): boolean =>
  effectOf(code.instructions[pc]!).flow === 'next';

/** Computes dominators with the simple fixed-point algorithm of Cooper, Harvey and Kennedy. */
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
