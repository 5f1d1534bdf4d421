import { generate } from 'astring';
import type { Program, Statement } from 'estree';
import type { Code } from '../bytecode/code.ts';
import { controlGraph } from '../bytecode/control-graph.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { reg } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import { block, declare, element, id, literal, property, register, run, throws } from './estree.ts';
import { closeIterators, stopBody, structuredBody, switchBody } from './machine-bodies.ts';
import type { FreeNames } from './machine-statements.ts';

/** `stops`: it stops after every instruction, with the frame as data. */
export type MachineShape = 'structured' | 'switch' | 'stops';

/** Beyond this, nesting would be too deep for the parsers' own stacks. */
const maxNestedBlocks = 500;

/**
 * In: verified code and the pcs to enter at. Out: the text of a function body with the parameters C
 * (the code) and H (`machineHelpers`) that returns the machine:
 *
 *   return function (F) { const A = F.args, …; let r0 = F.registers[0], r1, …; … }
 *
 * Guarantees: registers are read from the frame once, those that live at the entry; while other code
 * is called `F.pc` is the calling instruction, so that positions can be told; only an `await` writes
 * more of the frame, all that goes on after it. The shape is structured where the graph allows, unless `shape` says otherwise.
 */
export function machineText(code: Code, at: readonly Pc[], shape?: MachineShape): string {
  // The list may come from a realm whose arrays are no longer what they were.
  const entries: Pc[] = [];
  for (let i = 0; i < at.length; i++) entries.push(at[i]!);
  const readers: string[] = [];
  const writers: string[] = [];
  const names: FreeNames = {
    reader: (name) => numberIn(readers, name),
    writer: (name) => numberIn(writers, name),
  };
  const graph = controlGraph(code, entries);
  const canNest = graph.isReducible && graph.blocks.size <= maxNestedBlocks;
  // A handler is entered from everywhere in its region: through the switch.
  const structured = canNest && !graph.catches && (shape ?? 'structured') === 'structured';
  const write = shape === 'stops' ? stopBody : structured ? structuredBody : switchBody;
  const body = write(code, graph, names);
  const program: Program = {
    type: 'Program',
    sourceType: 'script',
    body: [
      ...(code.strict ? [run(literal('use strict'))] : []),
      declare('const', [[id('apply'), property(id('Reflect'), 'apply')]]),
      {
        type: 'ReturnStatement',
        argument: {
          type: 'FunctionExpression',
          id: null,
          params: [id('F')],
          body: block([
            ...prologue(
              code,
              entries,
              [...variables('g', readers), ...variables('w', writers)],
              structured,
            ),
            ...guardIterators(code, body),
          ]),
        },
      },
    ],
  };
  return generate(program);
}

function numberIn(names: string[], name: string): number {
  if (!names.includes(name)) names.push(name);
  return names.indexOf(name);
}

const variables = (letter: string, names: readonly string[]): string[] =>
  names.map((_, index) => `${letter}${index}`);

function prologue(
  code: Code,
  entries: readonly Pc[],
  accessors: readonly string[],
  structured: boolean,
): Statement[] {
  const frame = id('F');
  const closure = property(frame, 'closure');
  const liveAt = liveBefore(code);
  const registers = code.registerNames.map((_, index) => {
    const held = entries.some((entry) => liveAt[entry]!.has(reg(index)));
    const init = held ? element(property(frame, 'registers'), literal(index)) : undefined;
    return [register(reg(index)), init] as const;
  });
  return [
    declare('const', [
      [id('A'), property(frame, 'args')],
      [id('T'), property(frame, 'thisValue')],
      [id('S'), property(closure, 'scope')],
      [id('K'), property(closure, 'cells')],
    ]),
    declare('let', [
      ...registers,
      ...accessors.map((name) => [id(name), undefined] as const),
      ...(structured ? [] : [[id('pc'), property(frame, 'pc')] as const]),
    ]),
  ];
}

/** A throw that leaves the function closes its iterators. */
function guardIterators(code: Code, body: Statement[]): Statement[] {
  const close = closeIterators(code, -1);
  if (close.length === 0) return body;
  return [
    {
      type: 'TryStatement',
      block: block(body),
      handler: {
        type: 'CatchClause',
        param: id('error'),
        body: block([...close, throws(id('error'))]),
      },
    },
  ];
}
