import type { Code, SourceText } from '../bytecode/code.ts';
import { nextCodeId } from '../bytecode/code-id.ts';
import {
  type Instruction,
  type Opcode,
  type Pc,
  type Primitive,
  type Reg,
  reg,
  type Span,
} from '../bytecode/instructions.ts';
import type { ProtectedRegion } from '../bytecode/protection.ts';
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
import type { StoredReader } from './stored-reader.ts';

/**
 * Reads a code that `writeCode` wrote. Instructions, spans and inner codes are read on first use.
 *
 * @param lower lowers the function's source again, for spans that weren't written.
 */
export const readCode = (
  from: StoredReader,
  name: string,
  source: SourceText,
  lower: () => Code,
): Code => new StoredCode(from, name, source, lower);

interface Body {
  readonly instructions: readonly Instruction[];
  readonly regions: readonly ProtectedRegion[];
}

class StoredCode implements Code {
  readonly id: number = nextCodeId();
  readonly span: Span;
  readonly kind: Code['kind'];
  readonly isAsync: boolean;
  readonly isGenerator: boolean;
  readonly parameterCount: number;
  readonly strict: boolean;
  readonly registerCount: number;
  readonly registerNames: readonly (string | undefined)[];
  readonly outerCells: readonly string[];
  readonly #count: number;
  readonly #instructions: StoredReader;
  readonly #spans: StoredReader;
  readonly #inner: StoredReader;
  readonly #lower: () => Code;
  #knownBody: Body | undefined;
  #knownSpans: readonly Span[] | undefined;
  #knownInner: readonly Code[] | undefined;

  constructor(
    from: StoredReader,
    readonly name: string,
    readonly source: SourceText,
    lower: () => Code,
  ) {
    this.#lower = lower;
    this.kind = codeKinds[from.integer()]!;
    const traits = from.integer();
    this.isAsync = (traits & 1) > 0;
    this.isGenerator = (traits & 2) > 0;
    this.strict = (traits & 4) > 0;
    this.span = readSpan(from.integer(), from);
    this.parameterCount = from.integer();
    this.outerCells = from.list(() => from.readText());
    this.registerCount = from.integer();
    const names: (string | undefined)[] = from.list(() => from.readText());
    while (names.length < this.registerCount) names.push(undefined);
    this.registerNames = names;
    this.#count = from.integer();
    this.#instructions = from.section();
    this.#spans = from.section();
    this.#inner = from;
  }

  get instructions(): readonly Instruction[] {
    return (this.#knownBody ?? this.#readBody()).instructions;
  }

  get regions(): readonly ProtectedRegion[] {
    return (this.#knownBody ?? this.#readBody()).regions;
  }

  #readBody(): Body {
    this.#knownBody = readBody(this.#instructions, this.#count, new RegisterNumbers(this));
    return this.#knownBody;
  }

  get spans(): readonly Span[] {
    this.#knownSpans ??= this.#spans.isAtEnd
      ? this.#lower().spans
      : readSpans(this.#spans, this.span, this.#count);
    return this.#knownSpans;
  }

  get inner(): readonly Code[] {
    const from = this.#inner;
    this.#knownInner ??= from.list((index) => {
      const name = from.readText();
      return readCode(from.section(), name, this.source, () => this.#lower().inner[index]!);
    });
    return this.#knownInner;
  }
}

const readSpan = (start: number, from: StoredReader): Span => ({
  start,
  end: start + from.integer(),
});

function readSpans(from: StoredReader, { start }: Span, count: number): readonly Span[] {
  let last = start;
  return Array.from({ length: count }, () => {
    last += from.signed();
    return readSpan(last, from);
  });
}

const entries = (Object.entries(layouts) as [Opcode, Readonly<Record<string, OperandKind>>][]).map(
  ([op, layout]) => ({ op, operands: Object.entries(layout) }),
);

function readBody(from: StoredReader, count: number, registers: RegisterNumbers): Body {
  const instructions: Instruction[] = [];
  for (let pc = 0; pc < count; pc++) {
    const { op, operands } = entries[from.integer()]!;
    const instruction = { op } as AnyOperands;
    const at = { from, pc, registers };
    for (const [key, kind] of operands) {
      const value = readers[kind](at);
      if (value !== undefined || kind === 'primitive') instruction[key] = value;
    }
    registers.after(instruction as Instruction);
    instructions.push(instruction as Instruction);
  }
  const regions = from.list(() => ({
    start: from.integer(),
    end: from.integer(),
    target: from.integer(),
    error: reg(from.integer()),
  }));
  return { instructions, regions };
}

/** Where an operand is read. */
interface Position {
  readonly from: StoredReader;
  readonly pc: Pc;
  readonly registers: RegisterNumbers;
}

type Reader<T> = (at: Position) => T;

const choice =
  <T>(list: readonly T[]): Reader<T> =>
  ({ from }) =>
    list[from.integer()]!;

const register: Reader<Reg> = ({ from, registers }) => registers.registerOf(from.integer());
const optional: Reader<Reg | undefined> = ({ from, registers }) => {
  const number = from.integer();
  return number === 0 ? undefined : registers.registerOf(number - 1);
};

const readers: { readonly [K in OperandKind]: Reader<Operands[K]> } = {
  integer: ({ from }) => from.integer(),
  pc: ({ from, pc }) => pc + from.signed(),
  register,
  optionalRegister: optional,
  nullableRegister: (at) => optional(at) ?? null,
  registers: (at) => at.from.list(() => register(at)),
  text: ({ from }) => from.readText(),
  texts: ({ from }) => from.list(() => from.readText()),
  optionalTexts: ({ from }) => from.list(() => from.optionalText()),
  primitive: ({ from }) => readPrimitive(from),
  flag: choice(choices.flag),
  inner: choice(choices.inner),
  step: choice(choices.step),
  unary: choice(choices.unary),
  binary: choice(choices.binary),
  accessor: choice(choices.accessor),
  mode: choice(choices.mode),
  intrinsic: choice(choices.intrinsic),
};

function readPrimitive(from: StoredReader): Primitive {
  switch (from.integer()) {
    case primitives.undefined:
      return undefined;
    case primitives.null:
      return null;
    case primitives.false:
      return false;
    case primitives.true:
      return true;
    case primitives.integer:
      return from.integer();
    case primitives.number:
      return Number(from.readText());
    case primitives.bigint:
      return BigInt(from.readText());
    default:
      return from.readText();
  }
}
