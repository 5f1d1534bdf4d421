import type { Code } from '../bytecode/code.ts';
import type { Block, ControlGraph } from '../bytecode/control-graph.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { type ProtectedRegion, protectionAt } from '../bytecode/protection.ts';
import {
  assign,
  binary,
  block,
  breaks,
  continues,
  id,
  labelled,
  literal,
  loop,
  register,
  type Statement,
  switches,
  throws,
  tries,
  when,
} from './code-text.ts';
import { type BodyContext, blockStatements, closeIterators } from './machine-bodies.ts';

/** Variables in scope besides those of the statements: the requested entry, and the current region. */
export const entryName = 'q';
export const regionName = 'h';

/**
 * The body for reducible graphs: nested labelled loops and blocks, which the engine compiles like the user's own
 * code. A loop's header becomes `L: for (;;)`; a block with several predecessors follows a labelled block that
 * those paths break out of (Ramsey, *Beyond Relooper*, 2022).
 *
 * A handler is such a block, too. A `try` inside its labelled block catches, and a variable records in which region
 * the exception was thrown, because other code inside may belong to another region or to none.
 */
export function structuredBody(
  code: Code,
  graph: ControlGraph,
  surroundings: BodyContext,
): Statement[] {
  const entersRegion = regionChanges(code, graph);
  return tree(graph.entry);

  /** Emits a block with everything that it dominates. */
  function tree(at: Block): Statement[] {
    const merges = at.dominates.filter((child) => child.isMerge);
    const body = around(at, merges);
    return at.isLoop ? [labelled(labelOf('L', at), loop(body))] : body;
  }

  /** Emits the block, then the merges that it dominates. The first in order is in the innermost block. */
  function around(at: Block, merges: readonly Block[]): Statement[] {
    const last = merges[merges.length - 1];
    if (!last) return at.routes ? dispatch(at) : ordinary(at);
    const inner = around(at, merges.slice(0, -1));
    return [labelled(labelOf('B', last), block(catching(last, inner))), ...tree(last)];
  }

  function ordinary(at: Block): Statement[] {
    const statements = blockStatements(code, at, surroundings, (target) =>
      edge(at, graph.dispatchers.get(target) ?? target),
    );
    return entersRegion.has(at) ? [enter(regionOf(code, at)), ...statements] : statements;
  }

  /** Jumps to the requested entry; `q` becomes 0 again once it is reached. */
  function dispatch(at: Block): Statement[] {
    const cases = at.routes!.map(({ entry, next, arrives }) => ({
      test: entry,
      body: [...(arrives ? [assign(id(entryName), literal(0))] : []), ...edge(at, next)],
    }));
    const jump = when(binary('!==', id(entryName), literal(0)), [switches(id(entryName), cases)]);
    return [jump, ...edge(at, at.next[0]!)];
  }

  function edge(from: Block, target: Pc): Statement[] {
    const to = graph.blocks.get(target)!;
    if (to.order <= from.order) return [continues(labelOf('L', to))];
    if (to.isMerge) return [breaks(labelOf('B', to))];
    return tree(to);
  }

  /** Catches exceptions of the regions whose handler comes next; others propagate. */
  function catching(handler: Block, body: Statement[]): Statement[] {
    const regions = [...code.regions.entries()].filter(
      ([, { target }]) => (graph.dispatchers.get(target) ?? target) === handler.start,
    );
    const thrown = regions.filter(([, { start, end }]) =>
      [...graph.blocks.values()].some(
        (each) => each.handler === handler.start && start <= each.start && each.start < end,
      ),
    );
    if (thrown.length === 0) return body;
    const handlers = thrown.map(([index, { error }]) =>
      when(binary('===', id(regionName), literal(index + 1)), [
        ...closeIterators(code, error),
        assign(register(error), id('error')),
        breaks(labelOf('B', handler)),
      ]),
    );
    return [tries(body, [...handlers, throws(id('error'))])];
  }
}

const labelOf = (kind: 'B' | 'L', { start }: Block): string =>
  start < 0 ? `${kind}D${-start}` : `${kind}${start}`;

const enter = (region: number): Statement => assign(id(regionName), literal(region));

/** Returns blocks that may be reached from a region other than their own. */
function regionChanges(code: Code, graph: ControlGraph): ReadonlySet<Block> {
  const changes = new Set<Block>();
  if (!graph.catches) return changes;
  for (const from of [undefined, ...graph.blocks.values()]) {
    const left = from && !from.routes ? regionOf(code, from) : 0;
    for (const pc of from?.next ?? [graph.entry.start]) {
      const to = graph.blocks.get(pc)!;
      if (!to.routes && (from?.routes || from?.handler === pc || regionOf(code, to) !== left)) {
        changes.add(to);
      }
    }
  }
  return changes;
}

/** Returns 1 for the first region; 0 if exceptions leave the function. */
function regionOf(code: Code, { start }: Block): number {
  const region: ProtectedRegion | undefined = protectionAt(code, start);
  return region ? code.regions.indexOf(region) + 1 : 0;
}
