import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Code } from '../bytecode/code.ts';
import type { Opcode, Pc, Primitive, Reg, Span } from '../bytecode/instructions.ts';
import {
  type AnyOperands,
  choices,
  codeKinds,
  layouts,
  type OperandKind,
  type Operands,
  primitives,
} from './layouts.ts';
import { RegisterNumbers } from './registers.ts';
import type { StoredWriter } from './stored-writer.ts';

const opcodes = Object.keys(layouts) as readonly Opcode[];

/**
 * Writes a code and its inner codes, but not its name and its source, which the reader receives separately. `spans`:
 * whether to write positions; otherwise they are found by lowering the source again.
 */
export function writeCode(code: Code, spans: boolean, to: StoredWriter): void {
  const { isAsync, isGenerator, strict, registerNames } = code;
  to.integer(codeKinds.indexOf(code.kind));
  to.integer(Number(isAsync) + 2 * Number(isGenerator) + 4 * Number(strict));
  to.integer(code.span.start);
  to.integer(code.span.end - code.span.start);
  to.integer(code.parameterCount);
  to.list(code.outerCells, (name) => to.text(name));
  to.integer(code.registerCount);
  const variables = registerNames.filter((name) => name !== undefined);
  const isFirst = variables.every((name, index) => registerNames[index] === name);
  invariant(isFirst, 'variables come before temporaries');
  to.list(variables, (name) => to.text(name));
  to.integer(code.instructions.length);
  to.section(() => writeInstructions(code, to));
  to.section(() => {
    if (spans) writeSpans(code, to);
  });
  to.list(code.inner, (inner) => {
    to.text(inner.name);
    to.section(() => writeCode(inner, spans, to));
  });
}

function writeInstructions(code: Code, to: StoredWriter): void {
  const registers = new RegisterNumbers(code);
  code.instructions.forEach((instruction, pc) => {
    const { op } = instruction;
    to.integer(opcodes.indexOf(op));
    for (const [key, kind] of Object.entries(layouts[op]) as [string, OperandKind][]) {
      const write = writers[kind] as Writer<unknown>;
      write((instruction as AnyOperands)[key], { to, pc, registers });
    }
    registers.after(instruction);
  });
  to.list(code.regions, ({ start, end, target, error }) => {
    for (const each of [start, end, target, error]) to.integer(each);
  });
}

function writeSpans({ span, spans }: Code, to: StoredWriter): void {
  let last: Span = span;
  for (const each of spans) {
    to.signed(each.start - last.start);
    to.integer(each.end - each.start);
    last = each;
  }
}

/** Where an operand is written. */
interface Position {
  readonly to: StoredWriter;
  readonly pc: Pc;
  readonly registers: RegisterNumbers;
}

type Writer<T> = (value: T, at: Position) => void;

const indexIn =
  (list: readonly unknown[]): Writer<unknown> =>
  (value, { to }) =>
    to.integer(list.indexOf(value));

const register: Writer<Reg> = (value, { to, registers }) => to.integer(registers.numberOf(value));
const optional: Writer<Reg | null | undefined> = (value, { to, registers }) =>
  to.integer(value === null || value === undefined ? 0 : registers.numberOf(value) + 1);

const writers: { readonly [K in OperandKind]: Writer<Operands[K]> } = {
  integer: (value, { to }) => to.integer(value),
  pc: (value, { to, pc }) => to.signed(value - pc),
  register,
  optionalRegister: optional,
  nullableRegister: optional,
  registers: (value, at) => at.to.list(value, (each) => register(each, at)),
  text: (value, { to }) => to.text(value),
  texts: (value, { to }) => to.list(value, (each) => to.text(each)),
  optionalTexts: (value, { to }) => to.list(value, (each) => to.optionalText(each)),
  primitive: writePrimitive,
  flag: indexIn(choices.flag),
  inner: indexIn(choices.inner),
  step: indexIn(choices.step),
  unary: indexIn(choices.unary),
  binary: indexIn(choices.binary),
  accessor: indexIn(choices.accessor),
  mode: indexIn(choices.mode),
  intrinsic: indexIn(choices.intrinsic),
};

/** The largest integer that is stored as a number, not as text. */
const largest = 0xffff;

function writePrimitive(value: Primitive, { to }: Position): void {
  const tag = tagOf(value);
  to.integer(tag);
  if (tag === primitives.integer) to.integer(value as number);
  else if (tag === primitives.number) to.text(Object.is(value, -0) ? '-0' : String(value));
  else if (tag === primitives.bigint || tag === primitives.string) to.text(String(value));
}

function tagOf(value: Primitive): number {
  if (value === null) return primitives.null;
  switch (typeof value) {
    case 'boolean':
      return value ? primitives.true : primitives.false;
    case 'number': {
      const isSmall = Number.isInteger(value) && value >= 0 && value <= largest;
      return isSmall && !Object.is(value, -0) ? primitives.integer : primitives.number;
    }
    case 'bigint':
      return primitives.bigint;
    case 'string':
      return primitives.string;
    default:
      return primitives.undefined;
  }
}
