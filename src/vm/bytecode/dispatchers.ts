import type { Pc } from './instructions.ts';

/** A route from a dispatcher towards an entry. `arrives`: `next` is the entry rather than the next dispatcher. */
export interface Route {
  readonly entry: Pc;
  readonly next: Pc;
  readonly arrives: boolean;
}

/** The entry block of a graph with dispatchers. */
export const functionEntry: Pc = -1;

interface Edges {
  next: readonly Pc[];
  handler: Pc | undefined;
}

type Make<B> = (start: Pc, next: readonly Pc[], routes: readonly Route[]) => B;

/**
 * Adds a dispatcher before the start and before each loop that contains an entry; all paths to the loop lead
 * through it. The path to an entry goes through the dispatchers of the loops around it, outermost first. In: the
 * entries, the first of which is the function's start, and the bodies of the loops.
 */
export function addDispatchers<B extends Edges>(
  blocks: Map<Pc, B>,
  entries: readonly Pc[],
  loops: ReadonlyMap<Pc, ReadonlySet<Pc>>,
  make: Make<B>,
): ReadonlyMap<Pc, Pc> {
  const [start, ...others] = entries;
  const outerFirst = [...loops].sort(([, a], [, b]) => b.size - a.size);
  const around = new Map(
    others.map((entry) => [
      entry,
      outerFirst.filter(([header, body]) => header !== entry && body.has(entry)).map(([pc]) => pc),
    ]),
  );
  const dispatchers = new Map<Pc, Pc>();
  for (const headers of around.values()) {
    for (const header of headers) dispatchers.set(header, functionEntry - 1 - header);
  }
  const before = (pc: Pc): Pc => dispatchers.get(pc) ?? pc;
  for (const block of blocks.values()) {
    block.next = block.next.map(before);
    if (block.handler !== undefined) block.handler = before(block.handler);
  }

  const routes = new Map<Pc, Route[]>([[functionEntry, []]]);
  for (const [entry, headers] of around) {
    const stations = [functionEntry, ...headers.map(before)];
    for (const [index, station] of stations.entries()) {
      const arrives = index === stations.length - 1;
      const next = arrives ? before(entry) : stations[index + 1]!;
      routes.set(station, [...(routes.get(station) ?? []), { entry, next, arrives }]);
    }
  }
  const add = (at: Pc, otherwise: Pc) => {
    const taken = routes.get(at)!;
    blocks.set(at, make(at, [otherwise, ...new Set(taken.map(({ next }) => next))], taken));
  };
  for (const [header, at] of dispatchers) add(at, header);
  add(functionEntry, before(start!));
  return dispatchers;
}
