import type { Code } from '../bytecode/code.ts';
import type { Block, ControlGraph } from '../bytecode/control-graph.ts';
import { effectOf } from '../bytecode/effects.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import { pcMark } from '../frames/generated-scripts.ts';
import {
  array,
  assign,
  type Case,
  call,
  continues,
  id,
  literal,
  loop,
  property,
  register,
  returns,
  run,
  type Statement,
  statement,
  switches,
  throws,
  tries,
  when,
} from './code-text.ts';
import { type Place, saveFrame, statementsOf } from './machine-statements.ts';

/** The context that all instructions of a body share. */
export interface BodyContext extends Pick<Place, 'names' | 'marksPlace' | 'argument'> {
  /** Whether the text has a mark before each instruction. */
  readonly marksPcs: boolean;
  /** Instructions before which the machine stops. */
  readonly stops?: ReadonlySet<Pc> | undefined;
}

/**
 * The body for any graph: `for (;;) switch (pc) { case 0: … case 7: if (!r3) { pc = 12; continue; } … }`, with a
 * case per block, which falls through to the next. Every jump goes through the switch, and with handlers every
 * exception does, too: `for (;;) try { … } catch (e) { switch (pc) { case 7: r4 = e; pc = 20; continue; default:
 * throw e } }`
 */
export function switchBody(
  code: Code,
  graph: ControlGraph,
  around: BodyContext,
  go: (target: Pc) => Statement[] = goThroughSwitch,
): Statement[] {
  const falls = go === goThroughSwitch;
  const blocks = [...graph.blocks.values()].sort((a, b) => a.start - b.start);
  const cases = blocks.map(
    (each): Case => ({
      test: each.start,
      body: blockStatements(code, each, around, go, (target) => {
        // Falls through to the next case.
        const jump = go(target);
        return falls ? jump.slice(0, 1) : jump;
      }),
    }),
  );
  const body = loop([switches(id('pc'), cases)]);
  return graph.catches ? [loop([catching(code, blocks, body, go)])] : [body];
}

const goThroughSwitch = (target: Pc): Statement[] => [
  assign(id('pc'), literal(target)),
  continues(),
];

/** The machine that stops after every instruction, with the frame as data. */
export function stopBody(code: Code, graph: ControlGraph, around: BodyContext): Statement[] {
  return switchBody(code, graph, around, (target) => stopAt(code, target));
}

/** Ends the machine before the instruction, with the frame as data. */
const stopAt = (code: Code, pc: Pc): Statement[] => [
  ...saveFrame(code, liveBefore(code)[pc]!, pc),
  returns(property(id('H'), 'stopped')),
];

function catching(
  code: Code,
  blocks: readonly Block[],
  body: Statement,
  go: (target: Pc) => Statement[],
): Statement {
  const cases = code.regions.flatMap(({ start, end, target, error }): Case[] => {
    const inside = blocks.filter((each) => start <= each.start && each.start < end);
    const body: Statement[] = [
      ...closeIterators(code, error),
      assign(register(error), id('error')),
      ...go(target),
    ];
    return inside.map(({ start: test }, index) => ({
      test,
      body: index === inside.length - 1 ? body : [],
    }));
  });
  const otherwise: Case = { test: undefined, body: [throws(id('error'))] };
  return tries([body], [switches(id('pc'), [...cases, otherwise])]);
}

/** Closes the open iterators above a register after an exception, innermost first. */
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

export function blockStatements(
  code: Code,
  at: Block,
  around: BodyContext,
  go: (target: Pc) => Statement[],
  /** Continues at the next block of the code. */
  fall = go,
): Statement[] {
  const statements: Statement[] = [];
  const { names, marksPlace, argument, marksPcs, stops } = around;
  // Such an instruction is a block of its own.
  if (stops?.has(at.start)) return stopAt(code, at.start);
  for (let pc = at.start; pc <= at.last; pc++) {
    const instruction = code.instructions[pc]!;
    // A guard may have drawn the number of this call already.
    if (stops && instruction.op === 'call') {
      const isNumberCall = call(property(id('H'), 'isNumberCall'), [register(instruction.callee)]);
      statements.push(when(isNumberCall, stopAt(code, pc)));
    }
    const [first, ...others] = statementsOf({ names, marksPlace, argument, code, pc, go });
    if (first === undefined) continue;
    statements.push(marksPcs ? statement(`${pcMark(pc)}${first}`) : first, ...others);
  }
  const { flow } = effectOf(code.instructions[at.last]!);
  if (flow === 'next' || flow === 'branch') statements.push(...fall(at.last + 1));
  return statements;
}
