import type { Code } from '../bytecode/code.ts';
import type { InstructionOf, Opcode, Pc, Reg } from '../bytecode/instructions.ts';
import { liveDuring } from '../bytecode/liveness.ts';
import {
  array,
  assign,
  binary,
  call,
  conditional,
  type Expression,
  element,
  expression,
  id,
  literal,
  property,
  register,
  returns,
  run,
  type Statement,
  throws,
  unary,
  when,
} from './code-text.ts';

/**
 * Where the statements of an instruction are placed in the state machine. Names in scope:
 *   F frame   A arguments   T this   S scope   K outer cells   C code   H `machineHelpers`
 *   r0, r1 … registers   g0, g1 … readers of free names   w0, w1 … writers of free names
 */
export interface Place {
  readonly code: Code;
  readonly pc: Pc;
  readonly names: FreeNames;
  argument(index: number): Expression;
  /** True if the frame's position may be needed while other code runs. */
  readonly marksPlace: boolean;
  /** Returns the statements that continue at another instruction. */
  go(target: Pc): readonly Statement[];
}

/** The indices of the variables that contain accessors of free names. */
export interface FreeNames {
  reader(name: string): number;
  writer(name: string): number;
}

type Generator<O extends Opcode> = (
  instruction: InstructionOf<O>,
  place: Place,
) => readonly Statement[];

const registers = (all: readonly Reg[]): Expression => array(all.map(register));
const set = (dst: Reg, value: Expression): Statement[] => [assign(register(dst), value)];
const help = (name: string, ...args: Expression[]): Expression =>
  call(property(id('H'), name), args);
/** Returns an expression that initializes a variable on first use. */
const once = (variable: string, initial: Expression): Expression =>
  binary('??=', id(variable), initial);
const self = (place: Place): [Expression, Expression] => [id('C'), literal(place.pc)];

/** Records the position of the call, for errors and logs while it runs. */
const markPlace = ({ pc, marksPlace }: Place): Statement[] =>
  marksPlace ? [assign(property(id('F'), 'pc'), literal(pc))] : [];

function calls(
  { dst, callee, receiver }: { dst: Reg; callee: Reg; receiver: Reg | null },
  place: Place,
  args: Expression,
  direct: readonly Expression[] | undefined,
): Statement[] {
  const fn = register(callee);
  const isFunction = binary('!==', unary('typeof', fn), literal('function'));
  const result =
    receiver === null && direct
      ? call(fn, direct)
      : call(id('apply'), [fn, receiver === null ? literal(undefined) : register(receiver), args]);
  return [
    ...markPlace(place),
    when(isFunction, [throws(help('notCallable', ...self(place)))]),
    ...set(dst, result),
  ];
}

/** Returns argument number `index` if A is a list; a missing argument is undefined. */
export const argumentInList = (index: number): Expression =>
  conditional(
    binary('<', literal(index), property(id('A'), 'length')),
    element(id('A'), literal(index)),
    literal(undefined),
  );

/**
 * Saves the frame as data, to continue at `pc`. All registers are elements, even dead ones: code that resumes the
 * frame may read them, and must not see properties of array prototypes.
 */
export function saveFrame(code: Code, live: Iterable<Reg>, pc: Pc): Statement[] {
  const held: Expression[] = Array.from({ length: code.registerCount }, () => literal(undefined));
  for (const each of live) held[each] = register(each);
  return [
    assign(property(id('F'), 'registers'), array(held)),
    assign(property(id('F'), 'pc'), literal(pc)),
  ];
}

/** Suspends the machine at the instruction; the frame records how to continue. */
function suspend({ code, pc }: Place, value: Expression): Statement[] {
  return [...saveFrame(code, liveDuring(code, pc), pc), returns(help('suspend', value))];
}

const generators: { readonly [O in Opcode]: Generator<O> } = {
  const: (i) => set(i.dst, literal(i.value)),
  regexp: (i) => set(i.dst, help('regexp', literal(i.pattern), literal(i.flags))),
  move: (i) => set(i.dst, register(i.src)),
  uninitialized: (i) => set(i.dst, property(id('H'), 'uninitialized')),
  checkInitialized: (i) => [run(help('checkInitialized', register(i.src), literal(i.name)))],
  arg: (i, { argument }) => set(i.dst, argument(i.index)),
  restArgs: (i) => set(i.dst, help('restOf', id('A'), literal(i.from))),
  this: (i) => set(i.dst, id('T')),
  newTarget: (i) => set(i.dst, property(id('F'), 'newTarget')),
  arguments: (i) => set(i.dst, help('argumentsObject', id('F'), literal(i.mapped))),
  parameterCell: (i) => set(i.dst, help('parameterCell', register(i.arguments), literal(i.index))),
  loadFree(i, { names }) {
    const reader = call(property(id('S'), 'reader'), [literal(i.name)]);
    return set(i.dst, call(once(`g${names.reader(i.name)}`, reader), []));
  },
  storeFree(i, { code, names }) {
    const [name, src, strict] = [literal(i.name), register(i.src), literal(code.strict)];
    const writer = property(id('S'), 'writer');
    const resolved = once(`w${names.writer(i.name)}`, call(writer, [name, strict]));
    const directly = call(property(id('S'), 'set'), [name, src, strict]);
    const hasNone = binary('===', writer, literal(undefined));
    return [run(conditional(hasNone, directly, call(resolved, [src])))];
  },
  typeofFree: (i) => set(i.dst, help('typeofFree', id('S'), literal(i.name))),
  newCell: (i) => set(i.dst, help('newCell')),
  loadCell: (i) => set(i.dst, property(register(i.cell), 'value')),
  storeCell: (i) => [assign(property(register(i.cell), 'value'), register(i.src))],
  outerCell: (i) => set(i.dst, element(id('K'), literal(i.index))),
  closure(i) {
    const extra = [i.nameFrom, i.home].map((each) =>
      each === undefined ? literal(undefined) : register(each),
    );
    return set(i.dst, help('closure', id('F'), literal(i.code), registers(i.cells), ...extra));
  },
  class(i, place) {
    const parent = i.parent === null ? literal(undefined) : register(i.parent);
    const name = i.nameFrom === undefined ? [] : [register(i.nameFrom)];
    const cells = registers(i.cells);
    return [
      ...markPlace(place),
      ...set(i.dst, help('class', id('F'), literal(i.code), cells, parent, ...name)),
    ];
  },
  intrinsic: (i, place) => [
    ...markPlace(place),
    ...set(
      i.dst,
      call(property(property(id('H'), 'intrinsics'), i.name), [id('F'), ...i.args.map(register)]),
    ),
  ],
  unary: (i) => set(i.dst, unary(i.operator, register(i.src))),
  binary: (i) => set(i.dst, binary(i.operator, register(i.left), register(i.right))),
  toNumeric: (i) => set(i.dst, help('toNumeric', register(i.src))),
  increment(i) {
    const operator = i.by === 1 ? '++' : '--';
    const src = register(i.src);
    if (i.dst === i.src) return [run(unary(operator, src))];
    return set(i.dst, help('increment', src, literal(i.by)));
  },
  toPropertyKey: (i) => set(i.dst, help('toPropertyKey', register(i.src))),
  template(i) {
    const parts = i.strings.map((text, index) => {
      const value = i.values[index];
      return rawTemplate(text) + (value === undefined ? '' : `\${${register(value)}}`);
    });
    return set(i.dst, expression(`\`${parts.join('')}\``));
  },
  templateObject: (i, { pc }) =>
    set(i.dst, help('templateObject', element(property(id('C'), 'instructions'), literal(pc)))),
  getProp: (i) => set(i.dst, property(register(i.object), i.key)),
  setProp: (i) => [assign(property(register(i.object), i.key), register(i.src))],
  getElem: (i) => set(i.dst, element(register(i.object), register(i.key))),
  setElem: (i) => [assign(element(register(i.object), register(i.key)), register(i.src))],
  deleteProp: (i) => set(i.dst, unary('delete', element(register(i.object), register(i.key)))),
  getPrivate: (i) => set(i.dst, help('getPrivate', id('S'), register(i.object), literal(i.name))),
  setPrivate: (i) => [
    run(help('setPrivate', id('S'), register(i.object), literal(i.name), register(i.src))),
  ],
  hasPrivate: (i) => set(i.dst, help('hasPrivate', id('S'), register(i.object), literal(i.name))),
  newArray: (i) => set(i.dst, registers(i.elements)),
  arrayPush: (i) => [run(help('arrayPush', register(i.array), register(i.src)))],
  arraySpread: (i, place) => [
    ...markPlace(place),
    run(help('arraySpread', ...self(place), register(i.array), register(i.iterable))),
  ],
  newObject: (i) => set(i.dst, expression('{}')),
  defineProp: (i) => [
    run(help('defineDataProperty', register(i.object), register(i.key), register(i.src))),
  ],
  defineAccessor: (i) => [
    run(
      help(
        'defineAccessor',
        register(i.object),
        register(i.key),
        literal(i.accessor),
        register(i.src),
      ),
    ),
  ],
  setPrototype: (i) => [run(help('setPrototype', register(i.object), register(i.src)))],
  objectSpread: (i) => [run(help('objectSpread', register(i.object), register(i.source)))],
  objectRest: (i) => set(i.dst, help('objectRest', register(i.source), registers(i.excluded))),
  requireObject: (i) => [run(help('requireObject', register(i.src), literal(i.what)))],
  call: (i, place) => calls(i, place, registers(i.args), i.args.map(register)),
  callSpread: (i, place) => calls(i, place, register(i.args), undefined),
  construct: (i, place) => [
    ...markPlace(place),
    ...set(i.dst, help('constructNew', ...self(place), register(i.callee), registers(i.args))),
  ],
  constructSpread: (i, place) => [
    ...markPlace(place),
    ...set(i.dst, help('constructNew', ...self(place), register(i.callee), register(i.args))),
  ],
  getSuper: (i) => set(i.dst, help('getSuper', id('F'), literal(i.key))),
  getSuperElem: (i) => set(i.dst, help('getSuper', id('F'), register(i.key))),
  generatorStart: (_i, place) => suspend(place, literal(undefined)),
  yield: (i, place) => suspend(place, register(i.src)),
  await: (i, place) => suspend(place, register(i.src)),
  getIterator: (i, place) => [
    ...markPlace(place),
    ...set(i.dst, help('getIterator', ...self(place), register(i.iterable))),
  ],
  getKeyIterator: (i, place) => [
    ...markPlace(place),
    ...set(i.dst, help('keyIterator', register(i.object))),
  ],
  iteratorNext: (i, place) => [
    ...markPlace(place),
    when(unary('!', call(property(register(i.iterator), 'advance'), [])), place.go(i.done)),
    ...set(i.dst, property(register(i.iterator), 'current')),
  ],
  iteratorSkip: (i, place) => [
    ...markPlace(place),
    run(call(property(register(i.iterator), 'skip'), [])),
  ],
  iteratorClose: (i, place) => [
    ...markPlace(place),
    run(call(property(register(i.iterator), 'close'), [])),
  ],
  jump: (i, { go }) => go(i.target),
  jumpIf: (i, { go }) => [when(register(i.test), go(i.target))],
  jumpIfNot: (i, { go }) => [when(unary('!', register(i.test)), go(i.target))],
  jumpIfNullish: (i, { go }) => [when(isNullish(register(i.test)), go(i.target))],
  jumpIfNotUndefined: (i, { go }) => [
    when(binary('!==', register(i.test), literal(undefined)), go(i.target)),
  ],
  return: (i) => [returns(register(i.src))],
  throw: (i) => [throws(register(i.src))],
};

const isNullish = (value: Expression): Expression =>
  binary('||', binary('===', value, literal(null)), binary('===', value, literal(undefined)));

const rawTemplate = (text: string): string =>
  text.replace(/[\\`]|\$\{|\r/g, (match) => (match === '\r' ? '\\r' : `\\${match}`));

/** Returns the statements of an instruction, with a jump if the next instruction doesn't follow. */
export function statementsOf(place: Place): readonly Statement[] {
  const instruction = place.code.instructions[place.pc]!;
  return (generators[instruction.op] as Generator<Opcode>)(instruction, place);
}
