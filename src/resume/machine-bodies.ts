import type { CatchClause, Statement, SwitchCase } from 'estree';
import type { Code } from '../bytecode/code.ts';
import type { Block, ControlGraph } from '../bytecode/control-graph.ts';
import { effectOf } from '../bytecode/effects.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import {
  array,
  assign,
  block,
  call,
  id,
  labelled,
  literal,
  loop,
  property,
  register,
  returns,
  run,
  throws,
} from './estree.ts';
import { type FreeNames, saveFrame, statementsOf } from './machine-statements.ts';

/**
 * Any graph: `for (;;) switch (pc) { case 0: … case 7: if (!r3) { pc = 12; continue; } … }`, with a
 * case for each block, which falls into the next one. Every jump goes through the switch; with handlers, every throw as well:
 * `for (;;) try { … } catch (e) { switch (pc) { case 7: r4 = e; pc = 20; continue; default: throw e } }`
 */
export function switchBody(
  code: Code,
  graph: ControlGraph,
  names: FreeNames,
  go: (target: Pc) => Statement[] = goThroughSwitch,
): Statement[] {
  const falls = go === goThroughSwitch;
  const blocks = [...graph.blocks.values()].sort((a, b) => a.start - b.start);
  const cases = blocks.map(
    (each): SwitchCase => ({
      type: 'SwitchCase',
      test: literal(each.start),
      consequent: blockStatements(code, each, names, go, (target) => {
        // The next case follows.
        const way = go(target);
        return falls ? way.slice(0, 1) : way;
      }),
    }),
  );
  const body = loop(undefined, [{ type: 'SwitchStatement', discriminant: id('pc'), cases }]);
  return graph.catches ? [loop(undefined, [catching(code, blocks, body, go)])] : [body];
}

const goThroughSwitch = (target: Pc): Statement[] => [
  assign(id('pc'), literal(target)),
  { type: 'ContinueStatement' },
];

/** The machine that stops after every instruction, with the frame as data. */
export function stopBody(code: Code, graph: ControlGraph, names: FreeNames): Statement[] {
  const live = liveBefore(code);
  return switchBody(code, graph, names, (target) => [
    ...saveFrame(live[target]!, target),
    returns(property(id('H'), 'stopped')),
  ]);
}

function catching(
  code: Code,
  blocks: readonly Block[],
  body: Statement,
  go: (target: Pc) => Statement[],
): Statement {
  const cases = code.regions.flatMap(({ start, end, target, error }): SwitchCase[] => {
    const inside = blocks.filter((each) => start <= each.start && each.start < end);
    const consequent: Statement[] = [
      ...closeIterators(code, error),
      assign(register(error), id('error')),
      ...go(target),
    ];
    return inside.map(({ start: test }, index) => ({
      type: 'SwitchCase',
      test: literal(test),
      consequent: index === inside.length - 1 ? consequent : [],
    }));
  });
  const otherwise: SwitchCase = {
    type: 'SwitchCase',
    test: null,
    consequent: [throws(id('error'))],
  };
  const handler: CatchClause = {
    type: 'CatchClause',
    param: id('error'),
    body: block([
      { type: 'SwitchStatement', discriminant: id('pc'), cases: [...cases, otherwise] },
    ]),
  };
  return { type: 'TryStatement', block: block([body]), handler };
}

/** A throw closes the iterators above a register that are open, the innermost first. */
export function closeIterators(code: Code, above: number): Statement[] {
  const iterators = new Set(
    code.instructions.flatMap((each) =>
      each.op === 'getIterator' || each.op === 'getKeyIterator' ? [each.dst] : [],
    ),
  );
  const inside = [...iterators].filter((each) => each > above).sort((a, b) => a - b);
  if (inside.length === 0) return [];
  const abandon = property(id('H'), 'abandonIterators');
  return [run(call(abandon, [array(inside.map(register))]))];
}

/**
 * Reducible graphs: nested labelled loops and blocks, which the engine compiles like the code that
 * the user wrote. A loop's header becomes `L: for (;;)`; a block that several ways lead to stands
 * after a labelled block that those ways break out of (Ramsey, *Beyond Relooper*, 2022).
 */
export function structuredBody(code: Code, graph: ControlGraph, names: FreeNames): Statement[] {
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
    if (!last) return blockStatements(code, at, names, (target) => edge(at, target));
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
  names: FreeNames,
  go: (target: Pc) => Statement[],
  /** To the block that stands next in the code. */
  fall = go,
): Statement[] {
  const statements: Statement[] = [];
  for (let pc = at.start; pc <= at.last; pc++) {
    statements.push(...statementsOf({ code, pc, names, go }));
  }
  const { flow } = effectOf(code.instructions[at.last]!);
  if (flow === 'next' || flow === 'branch') statements.push(...fall(at.last + 1));
  return statements;
}
