import { type Cell, type Frame, uninitialized } from '../bytecode/frame.ts';
import type { Instruction, InstructionOf, Opcode, Pc, Reg } from '../bytecode/instructions.ts';
import { binary, unary } from '../bytecode/operators.ts';
import { templateObject } from '../bytecode/template-object.ts';
import { classOf, functionOf } from '../frames/function-of.ts';
import { innerClosure } from '../frames/inner-closure.ts';
import type { MachineFor } from '../frames/machine.ts';
import { argumentsObject, parameterCell } from '../language/arguments-object.ts';
import { keyIterator } from '../language/iterator-record.ts';
import { append, apply, argumentAt } from '../language/primordials.ts';
import { intrinsics } from './intrinsics.ts';
import * as semantics from './semantics.ts';

/** Executes the instruction. Returns the pc to continue at, if that isn't the next one. */
type Handler<O extends Opcode> = (
  frame: Frame,
  instruction: InstructionOf<O>,
  machineFor: MachineFor,
) => Pc | undefined;

/** Opcodes that end or suspend the run of a frame, which its driver handles. */
type Pausing = 'return' | 'await' | 'yield' | 'generatorStart';

/** Instructions that don't leave the frame. */
export type Performed = Exclude<Instruction, { op: Pausing }>;

type Handlers = { readonly [O in Exclude<Opcode, Pausing>]: Handler<O> };

const get = (frame: Frame, register: Reg): unknown => frame.registers[register];
function all(frame: Frame, registers: readonly Reg[]): unknown[] {
  const values: unknown[] = [];
  for (let i = 0; i < registers.length; i++) append(values, frame.registers[registers[i]!]);
  return values;
}
/** Returns the value of an optional operand. */
const at = (frame: Frame, register: Reg | undefined): unknown =>
  register === undefined ? undefined : frame.registers[register];
const cell = (frame: Frame, register: Reg): Cell => frame.registers[register] as Cell;
const receiver = (frame: Frame, register: Reg | null): unknown =>
  register === null ? undefined : frame.registers[register];

const handlers: Handlers = {
  const(frame, { dst, value }) {
    frame.registers[dst] = value;
  },
  regexp(frame, { dst, pattern, flags }) {
    frame.registers[dst] = semantics.regexp(pattern, flags);
  },
  move(frame, { dst, src }) {
    frame.registers[dst] = get(frame, src);
  },
  uninitialized(frame, { dst }) {
    frame.registers[dst] = uninitialized;
  },
  checkInitialized(frame, { src, name }) {
    semantics.checkInitialized(get(frame, src), name);
  },
  arg(frame, { dst, index }) {
    frame.registers[dst] = argumentAt(frame.args, index);
  },
  restArgs(frame, { dst, from }) {
    frame.registers[dst] = semantics.restOf(frame.args, from);
  },
  this(frame, { dst }) {
    frame.registers[dst] = frame.thisValue;
  },
  newTarget(frame, { dst }) {
    frame.registers[dst] = frame.newTarget;
  },
  arguments(frame, { dst, mapped }) {
    frame.registers[dst] = argumentsObject(frame, mapped);
  },
  parameterCell(frame, instruction) {
    const object = get(frame, instruction.arguments);
    frame.registers[instruction.dst] = parameterCell(object, instruction.index);
  },
  loadFree(frame, { dst, name }) {
    frame.registers[dst] = frame.closure.scope.get(name);
  },
  storeFree(frame, { name, src }) {
    frame.closure.scope.set(name, get(frame, src), isStrict(frame));
  },
  typeofFree(frame, { dst, name }) {
    frame.registers[dst] = semantics.typeofFree(frame.closure.scope, name);
  },
  newCell(frame, { dst }) {
    frame.registers[dst] = { value: uninitialized } satisfies Cell;
  },
  loadCell(frame, instruction) {
    frame.registers[instruction.dst] = cell(frame, instruction.cell).value;
  },
  storeCell(frame, instruction) {
    cell(frame, instruction.cell).value = get(frame, instruction.src);
  },
  outerCell(frame, { dst, index }) {
    frame.registers[dst] = frame.closure.cells[index];
  },
  closure(frame, { dst, code, cells, nameFrom, home }, machineFor) {
    const homeObject = home === undefined ? undefined : (get(frame, home) as object);
    const closure = innerClosure(frame, code, all(frame, cells) as Cell[], homeObject);
    const name = nameFrom === undefined ? undefined : (get(frame, nameFrom) as PropertyKey);
    frame.registers[dst] = functionOf(closure, machineFor, name);
  },
  class(frame, { dst, code, cells, nameFrom, parent }, machineFor) {
    const closure = innerClosure(frame, code, all(frame, cells) as Cell[]);
    const name = nameFrom === undefined ? undefined : (get(frame, nameFrom) as PropertyKey);
    const extended = parent === null ? undefined : get(frame, parent);
    frame.registers[dst] = classOf(closure, machineFor, extended, name);
  },
  intrinsic(frame, { dst, name, args }) {
    const operation = intrinsics[name] as (frame: Frame, ...operands: unknown[]) => unknown;
    const { 0: a, 1: b, 2: c, 3: d } = args;
    frame.registers[dst] = operation(frame, at(frame, a), at(frame, b), at(frame, c), at(frame, d));
  },
  unary(frame, { dst, operator, src }) {
    frame.registers[dst] = unary(operator, get(frame, src));
  },
  binary(frame, { dst, operator, left, right }) {
    frame.registers[dst] = binary(operator, get(frame, left), get(frame, right));
  },
  toNumeric(frame, { dst, src }) {
    frame.registers[dst] = semantics.toNumeric(get(frame, src));
  },
  increment(frame, { dst, src, by }) {
    frame.registers[dst] = semantics.increment(get(frame, src), by);
  },
  toPropertyKey(frame, { dst, src }) {
    frame.registers[dst] = semantics.toPropertyKey(get(frame, src));
  },
  template(frame, { dst, strings, values }) {
    frame.registers[dst] = semantics.template(strings, all(frame, values));
  },
  templateObject(frame, instruction) {
    frame.registers[instruction.dst] = templateObject(instruction);
  },
  getProp(frame, { dst, object, key }) {
    frame.registers[dst] = (get(frame, object) as Record<string, unknown>)[key];
  },
  setProp(frame, { object, key, src }) {
    semantics.setProperty(isStrict(frame), get(frame, object), key, get(frame, src));
  },
  getElem(frame, { dst, object, key }) {
    const container = get(frame, object) as Record<PropertyKey, unknown>;
    frame.registers[dst] = container[get(frame, key) as PropertyKey];
  },
  setElem(frame, { object, key, src }) {
    semantics.setProperty(isStrict(frame), get(frame, object), get(frame, key), get(frame, src));
  },
  deleteProp(frame, { dst, object, key }) {
    const container = get(frame, object);
    frame.registers[dst] = semantics.deleteProperty(isStrict(frame), container, get(frame, key));
  },
  getPrivate(frame, { dst, object, name }) {
    const { scope } = frame.closure;
    frame.registers[dst] = semantics.getPrivate(scope, get(frame, object), name);
  },
  setPrivate(frame, { object, name, src }) {
    semantics.setPrivate(frame.closure.scope, get(frame, object), name, get(frame, src));
  },
  hasPrivate(frame, { dst, object, name }) {
    const { scope } = frame.closure;
    frame.registers[dst] = semantics.hasPrivate(scope, get(frame, object), name);
  },
  newArray(frame, { dst, elements }) {
    frame.registers[dst] = all(frame, elements);
  },
  arrayPush(frame, { array, src }) {
    semantics.arrayPush(get(frame, array), get(frame, src));
  },
  arraySpread(frame, { array, iterable }) {
    const { code } = frame.closure;
    semantics.arraySpread(code, frame.pc, get(frame, array), get(frame, iterable));
  },
  newObject(frame, { dst }) {
    frame.registers[dst] = {};
  },
  defineProp(frame, { object, key, src }) {
    semantics.defineDataProperty(get(frame, object), get(frame, key), get(frame, src));
  },
  defineAccessor(frame, { object, key, accessor, src }) {
    semantics.defineAccessor(get(frame, object), get(frame, key), accessor, get(frame, src));
  },
  setPrototype(frame, { object, src }) {
    semantics.setPrototype(get(frame, object), get(frame, src));
  },
  objectSpread(frame, { object, source }) {
    semantics.objectSpread(get(frame, object), get(frame, source));
  },
  objectRest(frame, { dst, source, excluded }) {
    frame.registers[dst] = semantics.objectRest(get(frame, source), all(frame, excluded));
  },
  requireObject(frame, { src, what }) {
    semantics.requireObject(get(frame, src), what);
  },
  call(frame, instruction) {
    const callee = calledFunction(frame, instruction.callee);
    const args = all(frame, instruction.args);
    const thisValue = receiver(frame, instruction.receiver);
    frame.registers[instruction.dst] = apply(callee, thisValue, args);
  },
  callSpread(frame, instruction) {
    const callee = calledFunction(frame, instruction.callee);
    const args = get(frame, instruction.args) as unknown[];
    const thisValue = receiver(frame, instruction.receiver);
    frame.registers[instruction.dst] = apply(callee, thisValue, args);
  },
  construct(frame, { dst, callee, args }) {
    const { code } = frame.closure;
    const target = get(frame, callee);
    frame.registers[dst] = semantics.constructNew(code, frame.pc, target, all(frame, args));
  },
  constructSpread(frame, { dst, callee, args }) {
    const { code } = frame.closure;
    const values = get(frame, args) as unknown[];
    frame.registers[dst] = semantics.constructNew(code, frame.pc, get(frame, callee), values);
  },
  getSuper(frame, { dst, key }) {
    frame.registers[dst] = semantics.getSuper(frame, key);
  },
  getSuperElem(frame, { dst, key }) {
    frame.registers[dst] = semantics.getSuper(frame, get(frame, key));
  },
  getIterator(frame, { dst, iterable }) {
    const { code } = frame.closure;
    frame.registers[dst] = semantics.getIterator(code, frame.pc, get(frame, iterable));
  },
  getKeyIterator(frame, { dst, object }) {
    frame.registers[dst] = keyIterator(get(frame, object));
  },
  iteratorNext(frame, { dst, iterator, done }) {
    const record = semantics.asIterator(get(frame, iterator));
    if (!record.advance()) return done;
    frame.registers[dst] = record.current;
  },
  iteratorSkip(frame, { iterator }) {
    semantics.asIterator(get(frame, iterator)).skip();
  },
  iteratorClose(frame, { iterator }) {
    semantics.asIterator(get(frame, iterator)).close();
  },
  jump: (_frame, { target }) => target,
  jumpIf: (frame, { test, target }) => (get(frame, test) ? target : undefined),
  jumpIfNot: (frame, { test, target }) => (get(frame, test) ? undefined : target),
  jumpIfNullish(frame, { test, target }) {
    const value = get(frame, test);
    return value === undefined || value === null ? target : undefined;
  },
  jumpIfNotUndefined: (frame, { test, target }) =>
    get(frame, test) === undefined ? undefined : target,
  throw(frame, { src }) {
    throw get(frame, src);
  },
};

const isStrict = (frame: Frame): boolean => frame.closure.code.strict;

function calledFunction(frame: Frame, callee: Reg) {
  return semantics.asFunction(frame.closure.code, frame.pc, get(frame, callee));
}

/**
 * Executes the instruction at `frame.pc`, which neither returns nor suspends the frame, and advances the pc. If it
 * throws, the pc stays on it. `machineFor` runs functions that the instruction creates.
 */
export function perform(frame: Frame, instruction: Performed, machineFor: MachineFor): void {
  frame.pc = nextPc(frame, instruction, machineFor);
}

/** Like `perform`, but returns the pc to continue at. */
export function nextPc(frame: Frame, instruction: Performed, machineFor: MachineFor): Pc {
  const handler = handlers[instruction.op] as Handler<Opcode>;
  return handler(frame, instruction, machineFor) ?? frame.pc + 1;
}
