import type { Statement, SwitchCase } from 'estree';
import type { Code } from '../bytecode/code.ts';
import type { Block, ControlGraph } from '../bytecode/control-graph.ts';
import { effectOf } from '../bytecode/effects.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { assign, block, id, labelled, literal, loop } from './estree.ts';
import { type Place, statementsOf } from './machine-statements.ts';

type ReaderOf = Place['readerOf'];

/**
 * Any graph: `for (;;) switch (pc) { case 0: … case 7: if (!r3) { pc = 12; continue; } … }`, with a
 * case for each block. Every jump goes through the switch.
 */
export function switchBody(code: Code, graph: ControlGraph, readerOf: ReaderOf): Statement[] {
  const go = (target: Pc): Statement[] => [
    assign(id('pc'), literal(target)),
    { type: 'ContinueStatement' },
  ];
  const blocks = [...graph.blocks.values()].sort((a, b) => a.start - b.start);
  const cases = blocks.map(
    (each): SwitchCase => ({
      type: 'SwitchCase',
      test: literal(each.start),
      consequent: blockStatements(code, each, readerOf, go),
    }),
  );
  return [loop(undefined, [{ type: 'SwitchStatement', discriminant: id('pc'), cases }])];
}

/**
 * Reducible graphs: nested labelled loops and blocks, which the engine compiles like the code that
 * the user wrote. A loop's header becomes `L: for (;;)`; a block that several ways lead to stands
 * after a labelled block that those ways break out of (Ramsey, *Beyond Relooper*, 2022).
 */
export function structuredBody(code: Code, graph: ControlGraph, readerOf: ReaderOf): Statement[] {
  return tree(graph.entry);

  /** A block with everything that it dominates. */
  function tree(at: Block): Statement[] {
    const merges = at.dominates.filter((child) => child.isMerge);
    const body = around(at, merges);
    return at.isLoop ? [loop(`L${at.start}`, body)] : body;
  }

  /** The block, then the merges it dominates: the first in order stands in the innermost block. */
  function around(at: Block, merges: readonly Block[]): Statement[] {
    const last = merges[merges.length - 1];
    if (!last) return blockStatements(code, at, readerOf, (target) => edge(at, target));
    const inner = around(at, merges.slice(0, -1));
    return [labelled(`B${last.start}`, block(inner)), ...tree(last)];
  }

  function edge(from: Block, target: Pc): Statement[] {
    const to = graph.blocks.get(target)!;
    if (to.order <= from.order) return [{ type: 'ContinueStatement', label: id(`L${target}`) }];
    if (to.isMerge) return [{ type: 'BreakStatement', label: id(`B${target}`) }];
    return tree(to);
  }
}

function blockStatements(
  code: Code,
  at: Block,
  readerOf: ReaderOf,
  go: (target: Pc) => Statement[],
): Statement[] {
  const statements: Statement[] = [];
  for (let pc = at.start; pc <= at.last; pc++) {
    statements.push(...statementsOf({ code, pc, readerOf, go }));
  }
  const { flow } = effectOf(code.instructions[at.last]!);
  if (flow === 'next' || flow === 'branch') statements.push(...go(at.last + 1));
  return statements;
}
