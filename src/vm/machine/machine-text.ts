import type { Code } from '../bytecode/code.ts';
import { type ControlGraph, controlGraph } from '../bytecode/control-graph.ts';
import { type Pc, type Reg, reg } from '../bytecode/instructions.ts';
import { liveBefore } from '../bytecode/liveness.ts';
import {
  block,
  declare,
  type Expression,
  element,
  functionOf,
  id,
  literal,
  property,
  register,
  returns,
  run,
  type Statement,
  throws,
  tries,
} from './code-text.ts';
import { type BodyContext, closeIterators, stopBody, switchBody } from './machine-bodies.ts';
import { argumentInList, type FreeNames } from './machine-statements.ts';
import { entryName, regionName, structuredBody } from './structured-body.ts';

/** `stops`: the machine stops after every instruction, with the frame as data. */
export type MachineShape = 'structured' | 'switch' | 'stops';

/** The maximum nesting of blocks, which the stacks of parsers can handle. */
const maxNestedBlocks = 500;

/**
 * In: verified code and its entry pcs. Out: the text of a function body with the parameters C (the code) and H
 * (`machineHelpers`) that returns the machine: return function (F) { const A = F.args, …; let r0 = F.registers[0], r1,
 * …; … } Guarantees: registers that are live at the entry are read from the frame once; while other code is called,
 * `F.pc` is the calling instruction, so that positions are known; only an `await` writes more to the frame: everything
 * that is live after it. The shape is structured if the graph allows it, unless `shape` is given. `marksPcs`: with the
 * pcs, to find the instruction of a position. `stops`: instructions before which the machine returns `stopped`.
 */
export function machineText(
  code: Code,
  at: readonly Pc[],
  shape?: MachineShape,
  marksPcs = false,
  stops?: ReadonlySet<Pc>,
): string {
  // The list may come from a realm whose arrays have been modified.
  const entries: Pc[] = [];
  for (let i = 0; i < at.length; i++) entries.push(at[i]!);
  const liveAt = liveBefore(code);
  const held = (index: Reg) => entries.some((entry) => liveAt[entry]!.has(index));
  const frame = id('F');
  const closure = property(frame, 'closure');
  const { variables, body } = bodyText(code, entries, {
    shape,
    marksPlace: true,
    marksPcs,
    stops,
    start: property(frame, 'pc'),
    argument: argumentInList,
    held: (index) =>
      held(index) ? element(property(frame, 'registers'), literal(index)) : undefined,
  });
  const machine = functionOf(
    [frame],
    block([
      declare('const', [
        [id('A'), property(frame, 'args')],
        [id('T'), property(frame, 'thisValue')],
        [id('S'), property(closure, 'scope')],
        [id('K'), property(closure, 'cells')],
      ]),
      variables,
      ...body,
    ]),
  );
  return programText(code, machine);
}

/** Returns the body of a function that returns the value of `made`, in the code's strictness. */
export function programText(code: Code, expression: Expression): string {
  const apply = declare('const', [[id('apply'), property(id('H'), 'apply')]]);
  const strict = code.strict ? [run(literal('use strict'))] : [];
  return [...strict, apply, returns(expression)].join('\n');
}

interface BodyOptions extends Omit<BodyContext, 'names'> {
  readonly shape?: MachineShape | undefined;
  /** The pc at which the machine is entered. */
  readonly start: Expression;
  /** Returns the register's value at the entry. */
  held(register: Reg): Expression | undefined;
}

/** Returns the text of the code, with its variables. */
export function bodyText(
  code: Code,
  entries: readonly Pc[],
  { shape, start, held, marksPlace, marksPcs, argument, stops }: BodyOptions,
): { readonly variables: Statement; readonly body: Statement[] } {
  const readers: string[] = [];
  const writers: string[] = [];
  const names: FreeNames = {
    reader: (name) => numberIn(readers, name),
    writer: (name) => numberIn(writers, name),
  };
  const nested = nestedGraph(code, entries, shape, stops);
  const graph = nested ?? controlGraph(code, entries, false, stops);
  const write = shape === 'stops' ? stopBody : nested ? structuredBody : switchBody;
  const body = write(code, graph, { names, marksPlace, marksPcs, argument, stops });
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

/** Returns undefined if the graph can't or shouldn't be nested. */
function nestedGraph(
  code: Code,
  entries: readonly Pc[],
  shape: MachineShape = 'structured',
  stops?: ReadonlySet<Pc>,
): ControlGraph | undefined {
  if (shape !== 'structured') return undefined;
  const graph = controlGraph(code, entries, true, stops);
  return graph.isReducible && graph.blocks.size <= maxNestedBlocks ? graph : undefined;
}

function ownVariables(
  graph: ControlGraph | undefined,
  start: Expression,
): (readonly [Expression, Expression])[] {
  if (!graph) return [[id('pc'), start]];
  return [
    ...(graph.entry.routes ? [[id(entryName), start] as const] : []),
    ...(graph.catches ? [[id(regionName), literal(0)] as const] : []),
  ];
}

/** Closes iterators after an exception that leaves the function. */
function guardIterators(code: Code, body: Statement[]): Statement[] {
  const close = closeIterators(code, -1);
  if (close.length === 0) return body;
  return [tries(body, [...close, throws(id('error'))])];
}
