import { generate } from 'astring';
import type { Expression, Identifier, Program, Statement } from 'estree';
import type { Code } from '../bytecode/code.ts';
import { type ControlGraph, controlGraph } from '../bytecode/control-graph.ts';
import type { Pc, Reg } from '../bytecode/instructions.ts';
import { reg } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import {
  block,
  declare,
  element,
  id,
  literal,
  property,
  register,
  returns,
  run,
  throws,
  tries,
} from './estree.ts';
import { closeIterators, stopBody, switchBody } from './machine-bodies.ts';
import { argumentInList, type FreeNames, type Place } from './machine-statements.ts';
import { entryName, regionName, structuredBody } from './structured-body.ts';

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
 * more of the frame, all that continues after it. The shape is structured where the graph allows, unless `shape` says otherwise.
 */
export function machineText(code: Code, at: readonly Pc[], shape?: MachineShape): string {
  // The list may come from a realm whose arrays are no longer what they were.
  const entries: Pc[] = [];
  for (let i = 0; i < at.length; i++) entries.push(at[i]!);
  const liveAt = liveBefore(code);
  const held = (index: Reg) => entries.some((entry) => liveAt[entry]!.has(index));
  const frame = id('F');
  const closure = property(frame, 'closure');
  const { variables, body } = bodyText(code, entries, {
    shape,
    marksPlace: true,
    start: property(frame, 'pc'),
    argument: argumentInList,
    held: (index) =>
      held(index) ? element(property(frame, 'registers'), literal(index)) : undefined,
  });
  const machine: Expression = {
    type: 'FunctionExpression',
    id: null,
    params: [frame],
    body: block([
      declare('const', [
        [id('A'), property(frame, 'args')],
        [id('T'), property(frame, 'thisValue')],
        [id('S'), property(closure, 'scope')],
        [id('K'), property(closure, 'cells')],
      ]),
      variables,
      ...body,
    ]),
  };
  return programText(code, machine);
}

/** A program that returns what `made` says, in the mode of the code. */
export function programText(code: Code, made: Expression): string {
  const program: Program = {
    type: 'Program',
    sourceType: 'script',
    body: [
      ...(code.strict ? [run(literal('use strict'))] : []),
      declare('const', [[id('apply'), property(id('H'), 'apply')]]),
      returns(made),
    ],
  };
  return generate(program);
}

export interface BodyOptions extends Pick<Place, 'marksPlace' | 'argument'> {
  readonly shape?: MachineShape | undefined;
  /** The pc at which it is entered. */
  readonly start: Expression;
  /** The expression for the register's value there. */
  held(register: Reg): Expression | undefined;
}

/** Returns the text of the code, with its variables. */
export function bodyText(
  code: Code,
  entries: readonly Pc[],
  { shape, start, held, marksPlace, argument }: BodyOptions,
): { readonly variables: Statement; readonly body: Statement[] } {
  const readers: string[] = [];
  const writers: string[] = [];
  const names: FreeNames = {
    reader: (name) => numberIn(readers, name),
    writer: (name) => numberIn(writers, name),
  };
  const nested = nestedGraph(code, entries, shape);
  const graph = nested ?? controlGraph(code, entries);
  const write = shape === 'stops' ? stopBody : nested ? structuredBody : switchBody;
  const body = write(code, graph, { names, marksPlace, argument });
  const registers = code.registerNames.map(
    (_, index) => [register(reg(index)), held(reg(index))] as const,
  );
  const accessors = [...named('g', readers), ...named('w', writers)];
  const variables = declare('let', [...registers, ...accessors, ...ownVariables(nested, start)]);
  return { variables, body: guardIterators(code, body) };
}

function numberIn(names: string[], name: string): number {
  if (!names.includes(name)) names.push(name);
  return names.indexOf(name);
}

const named = (letter: string, names: readonly string[]) =>
  names.map((_, index) => [id(`${letter}${index}`), undefined] as const);

/** Undefined: it can't be nested, or shall not. */
function nestedGraph(
  code: Code,
  entries: readonly Pc[],
  shape: MachineShape = 'structured',
): ControlGraph | undefined {
  if (shape !== 'structured') return undefined;
  const graph = controlGraph(code, entries, true);
  return graph.isReducible && graph.blocks.size <= maxNestedBlocks ? graph : undefined;
}

function ownVariables(
  graph: ControlGraph | undefined,
  start: Expression,
): (readonly [Identifier, Expression])[] {
  if (!graph) return [[id('pc'), start]];
  return [
    ...(graph.entry.routes ? [[id(entryName), start] as const] : []),
    ...(graph.catches ? [[id(regionName), literal(0)] as const] : []),
  ];
}

/** A throw that leaves the function closes its iterators. */
function guardIterators(code: Code, body: Statement[]): Statement[] {
  const close = closeIterators(code, -1);
  if (close.length === 0) return body;
  return [tries(body, [...close, throws(id('error'))])];
}
